#!/usr/bin/env bash
# For the primary's first start: a standby may come, with a password.
echo 'host replication postgres samenet scram-sha-256' >>"$PGDATA/pg_hba.conf"
