import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { networkInterfaces } from 'node:os'

/** Where programs that know no sockets reach the embedded Postgres, such as most GUI clients. */
export interface TcpAccess {
  /** On loopback; 0 when there is none. */
  readonly port: number
  /** Known to the server, which sets it; commands beside it only open the port. */
  readonly password?: TcpPassword | undefined
}

/** The superuser's: tables that are made with it have the owner that those of `basalt sql` have. */
export interface TcpPassword {
  readonly file: string
  /** Makes it when there is none. */
  read(): string
}

/** The addresses that Postgres listens on; a system without IPv6 would make it complain about `::1`. */
export function loopbackAddresses(): [string, ...string[]] {
  const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === '::1'),
  )
  return hasIPv6 ? ['127.0.0.1', '::1'] : ['127.0.0.1']
}

/**
 * Who may connect (PostgreSQL, The pg_hba.conf File), in place of initdb's file, which trusts every connection over
 * TCP. The directory of the socket keeps other accounts out, and base backups go over it.
 */
export const hostBasedAuthentication = `# Written by Basalt at every start.
local all         all              trust
local replication all              trust
host  all         all 127.0.0.1/32 scram-sha-256
host  all         all ::1/128      scram-sha-256
host  all         all all          reject
host  replication all all          reject
`

const iterations = 4096

/**
 * What Postgres stores of a password of ASCII characters (RFC 5803, RFC 7677). Made here, so that the password itself
 * is in no statement, which logs and views would show.
 *
 * @param salt of 16 bytes; chosen unless given
 */
export function scramVerifier(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
  const keyOf = (purpose: string) => createHmac('sha256', salted).update(purpose).digest()
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const serverKey = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}

/** `PGPASSWORD="$(cat '/app/.basalt/secrets/postgres_password')" psql "host=127.0.0.1 …"`, for a shell. */
export function describeTcpAccess(
  port: number,
  passwordFile: string,
  { user, database }: { user: string; database: string },
): string {
  const file = `'${passwordFile.replaceAll("'", String.raw`'\''`)}'`
  return `PGPASSWORD="$(cat ${file})" psql "host=127.0.0.1 port=${port} user=${user} dbname=${database}"`
}
