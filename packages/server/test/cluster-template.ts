import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { locateHome, prepareCluster } from '../src/database/embedded/cluster.ts'
import { cleanUpAfterKill } from './clean-up-process.ts'
import { makeScratchDirectory } from './scratch-directory.ts'

export interface ClusterTemplate extends Disposable {
  readonly directory: string
}

/** Creates an initialized cluster that is never started. A copy of its files takes a tenth of the time of initdb. */
export async function createClusterTemplate(): Promise<ClusterTemplate> {
  const home = makeScratchDirectory('basalt-template-')
  const release = cleanUpAfterKill({ directory: home })
  chmodSync(home, 0o755)
  const { directory } = await prepareCluster(home)
  return {
    directory,
    [Symbol.dispose]() {
      rmSync(home, { recursive: true, force: true })
      release()
    },
  }
}

interface CopyOptions {
  /** Owner of a new data directory. */
  readonly account?: { readonly uid: number; readonly gid: number } | undefined
  readonly template?: string | undefined
}

/** Copies the cluster that a first start would create into a data directory. */
export function copyClusterTemplate(
  dataDirectory: string,
  { account, template = inject('clusterTemplate') }: CopyOptions = {},
): void {
  mkdirSync(dataDirectory, { recursive: true })
  if (account !== undefined) chownSync(dataDirectory, account.uid, account.gid)
  const { user, home } = locateHome(dataDirectory)
  const destination = join(home, 'postgres')
  // Node's own copy sets other modes for directories, which Postgres rejects.
  execFileSync('cp', ['-Rp', template, destination])
  if (user !== undefined) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, destination])
}
