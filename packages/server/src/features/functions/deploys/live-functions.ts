import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Notifications, WatchHandle } from '../../../database/notifications/notifications.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { messageOf } from '../../../lib/errors.ts'
import { TaskQueue } from '../../../lib/task-queue.ts'
import { WorkInFlight } from '../../../lib/work-in-flight.ts'
import { findDeploy, listFiles, listHashes, liveVersion, readBlobs } from './deploy.ts'
import { type DeployContent, isIntact, removeOldFolders, writeDeployFolder } from './deploy-folder.ts'

const topic = 'functions'
/** Milliseconds after which a failed write is repeated: at first, and at most. */
const retryMs = 5000
const longestRetryMs = 300_000
/** Pause between two reads of the disk, while another process of the machine installs a deploy. */
const followMs = 1000

/** Folder of the live deploy on this machine. */
export interface LiveFolder {
  readonly hash: string
  /** Path of the folder with the function files. The packages are in the folder above. */
  readonly path: string
}

interface NamedContent extends DeployContent {
  readonly hash: string
}

export interface LiveFunctionsOptions {
  readonly database: SystemDatabase
  readonly notifications: Pick<Notifications, 'watch' | 'announce' | 'isLeading'>
  /** Folder of this machine for deploys. */
  readonly directory: string
  readonly log: Logger
}

/** Live deploy, as a folder on this machine. Nodes write it to their disk within a second of a promotion. */
export class LiveFunctions {
  readonly #options: LiveFunctionsOptions
  readonly #watch: WatchHandle
  readonly #listeners: (() => void)[] = []
  /** Hash of the live deploy, also if its folder could not be written. */
  #hash: string | undefined
  #live: LiveFolder | undefined
  #retry: NodeJS.Timeout | undefined
  /** Failed writes of the live deploy in a row. */
  #failures = 0
  /** Folders that are being written, by the hash of the deploy. */
  readonly #writes = new Map<string, Promise<string>>()
  /** Installations, one at a time. */
  readonly #installs = new TaskQueue()
  readonly #work = new WorkInFlight()

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

  /** True while a deploy is live that is not on the disk of this machine yet. */
  get isPending(): boolean {
    return this.#hash !== undefined && this.#hash !== this.#live?.hash
  }

  /** Hash of the live deploy, also while it is not on the disk of this machine. */
  get liveHash(): string | undefined {
    return this.#hash
  }

  /**
   * Writes a deploy to the disk with its packages, and returns the folder with its function files. Calls for the same deploy
   * share one write.
   *
   * @throws Error, such as InstallFailed
   */
  async writeFolder(hash: string): Promise<string> {
    const known = this.#writes.get(hash)
    if (known !== undefined) return await known
    const writing = this.#work.add(this.#write(hash)).finally(() => this.#writes.delete(hash))
    this.#writes.set(hash, writing)
    return await writing
  }

  async #write(hash: string): Promise<string> {
    const { database, directory } = this.#options
    const content = await this.#readContent(hash)
    const write = () =>
      writeDeployFolder(directory, content, (hashes) => readBlobs(database, hashes), this.#work.signal)
    const folder = await ((await this.#needsNpm(content)) ? this.#installs.add(write) : write())
    return join(folder, 'functions')
  }

  async #readContent(hash: string): Promise<NamedContent> {
    const { database } = this.#options
    const [files, deploy] = [await listFiles(database, hash), await findDeploy(database, hash)]
    return { hash, files, installs: deploy?.installs === true }
  }

  async #needsNpm(content: NamedContent): Promise<boolean> {
    return content.installs && !(await isIntact(join(this.#options.directory, content.hash), content))
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
    if (this.#hash !== (hash ?? undefined)) this.#failures = 0
    this.#hash = hash ?? undefined
    if (hash === null || hash === this.#live?.hash) return
    const isLong = await this.#needsNpm(await this.#readContent(hash))
    const applied = this.#apply(hash)
    // Further changes are noticed while npm works.
    if (!isLong) await applied
  }

  /** Writes the live deploy to the disk, and calls the listeners. Never fails. */
  async #apply(hash: string): Promise<void> {
    const { notifications, log } = this.#options
    let previous: LiveFolder | undefined
    try {
      // One process of a machine installs for the others.
      if (!notifications.isLeading && (await this.#needsNpm(await this.#readContent(hash))))
        return this.#applyLater(hash, followMs)
      const path = await this.writeFolder(hash)
      // Another deploy has become live meanwhile, or another call has done the same.
      if (this.#hash !== hash || this.#live?.hash === hash) return
      previous = this.#live
      this.#live = { hash, path }
    } catch (error) {
      if (this.#hash !== hash || this.#work.signal.aborted) return
      const reason = messageOf(error)
      const delayMs = Math.min(retryMs * 2 ** this.#failures, longestRetryMs)
      this.#failures += 1
      log.error({ deploy: hash, reason, delayMs }, 'failed to write the live deploy of functions; retrying')
      // The server starts without it, because a rollback needs the API.
      return this.#applyLater(hash, delayMs)
    }
    this.#failures = 0
    log.info({ deploy: hash }, 'deploy of functions is live')
    for (const listener of this.#listeners) listener()
    // The previous deploy may still be in use by this machine.
    await this.#removeOthers([hash, ...(previous === undefined ? [] : [previous.hash])]).catch(
      (error: unknown) => log.warn({ reason: messageOf(error) }, 'failed to remove old deploys of functions'),
    )
  }

  #applyLater(hash: string, delayMs: number): void {
    clearTimeout(this.#retry)
    if (this.#hash !== hash || this.#work.signal.aborted) return
    this.#retry = setTimeout(() => void this.#apply(hash), delayMs).unref()
  }

  async #removeOthers(used: readonly string[]): Promise<void> {
    const { database, directory } = this.#options
    await removeOldFolders(directory, new Set([...used, ...(await listHashes(database))]))
  }

  /** Ends installations, and waits for their end. */
  async stop(): Promise<void> {
    clearTimeout(this.#retry)
    await this.#work.stop()
  }
}
