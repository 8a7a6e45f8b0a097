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
}

/** Writes the file that `postgresql.conf` includes. */
export function writeSettings(cluster: ConfiguredCluster): void {
  const settings: Record<string, string> = {
    ...tcpSettings(cluster),
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

function tcpSettings({ directory, tcpPort, user }: ConfiguredCluster): Record<string, string> {
  if (tcpPort === 0) return { listen_addresses: '' }
  const path = join(directory, 'basalt_hba.conf')
  writeFileSync(path, hostBasedAuthentication, { mode: 0o600 })
  giveTo(user, path)
  return { listen_addresses: loopbackAddresses().join(), port: String(tcpPort), hba_file: path }
}
