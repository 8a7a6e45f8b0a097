import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Binaries, statementStatistics } from './binaries.ts'
import { giveTo, type OsUser } from './os-user.ts'
import { hostBasedAuthentication, loopbackAddresses } from './tcp-access.ts'

/** Settings that tests change: a throw-away cluster needs no durability. */
export type ClusterSettings = Readonly<Record<string, string>>

interface ConfiguredCluster {
  readonly binaries: Pick<Binaries, 'libraries'>
  /** PGDATA. */
  readonly directory: string
  readonly socketDirectory: string
  readonly user: OsUser | undefined
  readonly settings: ClusterSettings
  /** Loopback port; 0 when only the socket is open. */
  readonly tcpPort: number
  /** True if every connection requires a password; false for initdb's rules. */
  readonly hasPassword: boolean
}

/** Writes the file that `postgresql.conf` includes. */
export function writeSettings(cluster: ConfiguredCluster): void {
  const settings: Record<string, string> = {
    ...accessSettings(cluster),
    unix_socket_directories: cluster.socketDirectory,
    max_connections: '200',
    shared_buffers: '128MB',
    // Compiling a short query takes longer than running it.
    jit: 'off',
    // The client gets its own errors; its values do not belong in a file.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    shared_preload_libraries: cluster.binaries.libraries.join(', '),
    // The values of other statements are replaced by parameters. Utility statements such as ALTER ROLE keep theirs.
    [`${statementStatistics}.track_utility`]: 'off',
    ...cluster.settings,
  }
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`,
  )
  const path = join(cluster.directory, 'basalt.conf')
  writeFileSync(path, `# Written by Basalt at every start.\n${lines.join('')}`, { mode: 0o600 })
  giveTo(cluster.user, path)
}

function accessSettings({
  directory,
  tcpPort,
  user,
  hasPassword,
}: ConfiguredCluster): Record<string, string> {
  const tcp =
    tcpPort === 0
      ? { listen_addresses: '' }
      : { listen_addresses: loopbackAddresses().join(), port: String(tcpPort) }
  if (!hasPassword) return tcp
  const path = accessFile(directory)
  writeFileSync(path, hostBasedAuthentication, { mode: 0o600 })
  giveTo(user, path)
  return { ...tcp, hba_file: path }
}

/** Returns the path of the access rules. Earlier versions used other files, in which the socket needs no password. */
export function accessFile(directory: string): string {
  return join(directory, 'basalt_access.conf')
}
