import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { networkInterfaces } from 'node:os'

/** Returns the addresses that Postgres listens on; on a system without IPv6 it would complain about `::1`. */
export function loopbackAddresses(): [string, ...string[]] {
  const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === '::1'),
  )
  return hasIPv6 ? ['127.0.0.1', '::1'] : ['127.0.0.1']
}

/**
 * Access rules (PostgreSQL, The pg_hba.conf File). They replace initdb's file, which trusts every connection. The socket
 * requires the password, too: code of the same account, such as a package of a function, can reach it.
 */
export const hostBasedAuthentication = `# Written by Basalt at every start.
local all         all              scram-sha-256
local replication all              scram-sha-256
host  all         all 127.0.0.1/32 scram-sha-256
host  all         all ::1/128      scram-sha-256
host  all         all all          reject
host  replication all all          reject
`

const iterations = 4096

/**
 * Returns the verifier that Postgres stores for a password of ASCII characters (RFC 5803, RFC 7677). It is
 * computed here, so that the password itself is in no statement, which logs and views would show.
 *
 * @param salt of 16 bytes; random by default
 */
export function scramVerifier(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256')
  const keyOf = (purpose: string) => createHmac('sha256', salted).update(purpose).digest()
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const serverKey = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}

/**
 * Formats the command for a shell: `PGPASSWORD="$(cat '/app/.basalt/secrets/postgres_password')" psql
 * "host=127.0.0.1 …"`.
 *
 * @param host address, or directory of the socket
 */
export function describeAccess(
  passwordFile: string,
  { host, port, user, database }: { host: string; port: number; user: string; database: string },
): string {
  const file = `'${passwordFile.replaceAll("'", String.raw`'\''`)}'`
  return `PGPASSWORD="$(cat ${file})" psql "host=${host} port=${port} user=${user} dbname=${database}"`
}
