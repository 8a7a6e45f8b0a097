import { automatic, flag, integer, list, text } from '../config/keys.ts'
import { Type } from '../lib/type.ts'

/** `database`: which PostgreSQL, and how it is used. */
export const databaseConfig = Type.Object({
  url: text('', 'PostgreSQL 15 or later to use. Empty: the embedded PostgreSQL in server.data_dir.', {
    secret: true,
    pattern: '^(postgres(ql)?://.+)?$',
    expects: 'a URL such as postgresql://user:password@host:5432/database',
  }),
  listen_url: text(
    '',
    'Direct connection for LISTEN when database.url leads to a transaction pooler. Empty: nodes poll there.',
    {
      secret: true,
      pattern: '^(postgres(ql)?://.+)?$',
      expects: 'a URL such as postgresql://user:password@host:5432/database',
    },
  ),
  gateway_url: text(
    '',
    'How requests of callers log in, as basalt_gateway, where the server may not make that role or a pooler stands before it. Empty: as database.url, with a password made of auth.jwt_secret.',
    {
      secret: true,
      pattern: '^(postgres(ql)?://.+)?$',
      expects: 'a URL such as postgresql://basalt_gateway:password@host:5432/database',
    },
  ),
  branch: text(
    '',
    'Name of a copy of the database that `basalt db branch` has made, to work on that instead.',
    {
      pattern: '^([a-z0-9][a-z0-9_-]{0,31})?$',
      expects: 'a name of up to 32 lower-case letters, digits, _ and -',
    },
  ),
  max_conns: integer(20, 'Connections to the database, per node, beside the one that listens.', 4, 1000),
  acquire_timeout_ms: integer(
    5000,
    'Milliseconds a request waits for a free connection. One that is expected to wait longer is refused at once.',
    50,
    600_000,
  ),
  statement_timeout_ms: integer(30_000, 'Milliseconds a statement may run.', 100, 3_600_000),
  schemas: list(['public'], 'Schemas whose tables become collections.', {
    minItems: 1,
    pattern: '^[^\\u0000]{1,63}$',
    expects: 'a list of schema names, at least one',
  }),
  embedded_port: integer(
    0,
    'Port on loopback where psql and GUI clients reach the embedded PostgreSQL, with a password; 0 opens none.',
    0,
    65535,
  ),
  expose_partitions: flag(
    false,
    'Whether partitions are collections of their own. Otherwise they are served through their table alone.',
  ),
  require_rls: automatic(
    'Whether tables and views without row-level security are kept from everybody but administrators. auto: beside an external database, unless auth.enabled is false.',
  ),
})
