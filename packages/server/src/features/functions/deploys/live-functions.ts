import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'
import { listFiles, listHashes, liveVersion, readBlobs } from './deploy.ts'
import { removeOldFolders, writeDeployFolder } from './deploy-folder.ts'

const topic = 'functions'
/** Milliseconds after which a failed write is repeated. */
const retryMs = 5000

/** Folder of the live deploy on this machine. */
export interface LiveFolder {
  readonly hash: string
  /** Path of the folder with the function files. The packages are in the folder above. */
  readonly path: string
}

export interface LiveFunctionsOptions {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'watch' | 'announce'>
  /** Folder of this machine for deploys. */
  readonly directory: string
  readonly log: Logger
}

/** Live deploy, as a folder on this machine. Nodes write it to their disk within a second of a promotion. */
export class LiveFunctions {
  readonly #options: LiveFunctionsOptions
  readonly #watch: WatchHandle
  readonly #listeners: (() => void)[] = []
  #live: LiveFolder | undefined
  #retry: NodeJS.Timeout | undefined

  constructor(options: LiveFunctionsOptions) {
    this.#options = options
    this.#watch = options.notifications.watch({
      topic,
      version: liveVersion,
      onChange: (hash) => this.#change(hash),
    })
  }

  /** Returns the folder of the live deploy; undefined before the first one. */
  liveFolder(): LiveFolder | undefined {
    return this.#live
  }

  /** Calls the listener after each change of the live folder. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Applies a committed change on this node, and notifies the others. Never fails: the polling loop retries. */
  async refresh(): Promise<void> {
    this.#options.notifications.announce(topic)
    await this.#watch.poll().catch(() => undefined)
  }

  async #change(hash: string | null): Promise<void> {
    clearTimeout(this.#retry)
    const previous = this.#live
    if (hash === null || hash === previous?.hash) return
    const { database, directory, log } = this.#options
    try {
      const files = await listFiles(database, hash)
      const folder = await writeDeployFolder(directory, { hash, files }, (hashes) =>
        readBlobs(database, hashes),
      )
      this.#live = { hash, path: join(folder, 'functions') }
    } catch (error) {
      const reason = messageOf(error)
      log.error({ deploy: hash, reason }, 'failed to write the live deploy of functions; retrying')
      // The server starts without it, because a rollback needs the API.
      this.#retry = setTimeout(() => void this.#change(hash), retryMs).unref()
      return
    }
    log.info({ deploy: hash }, 'deploy of functions is live')
    for (const listener of this.#listeners) listener()
    // The previous deploy may still be in use by this machine.
    const kept = new Set([
      hash,
      ...(previous === undefined ? [] : [previous.hash]),
      ...(await listHashes(database)),
    ])
    await removeOldFolders(directory, kept).catch((error: unknown) =>
      log.warn({ reason: messageOf(error) }, 'failed to remove old deploys of functions'),
    )
  }
}
