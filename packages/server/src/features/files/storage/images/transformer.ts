import { type ChildProcess, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { extname, join } from 'node:path'
import { storageErrors } from '../errors.ts'
import type { ImageResult } from './protocol.ts'
import type { Transform } from './transform.ts'
import { type QueuedTransform, TransformQueue } from './transform-queue.ts'

/** Milliseconds that one image may take before its process is killed. */
const timeoutMs = 20_000
/** Milliseconds without work after which a process ends. */
const idleMs = 60_000
export interface Transformer {
  /**
   * Makes an image in a process of its own.
   *
   * @param read the bytes of the source, when it is due; undefined when they were deleted
   * @throws AppError image_processing_failed, images_busy, images_unavailable
   */
  transform(
    work: QueuedTransform,
    read: () => Promise<Buffer | undefined>,
    transform: Transform,
  ): Promise<Buffer | undefined>
  stop(): void
}

/** Makes images in processes of their own, each one at a time; half of the processors stay with the server. */
export function createTransformer(size = Math.max(1, Math.min(4, availableParallelism() >> 1))): Transformer {
  const queue = new TransformQueue(size)
  const idle: ImageProcess[] = []
  const all = new Set<ImageProcess>()

  function start(): ImageProcess {
    const process = new ImageProcess(() => {
      all.delete(process)
      const index = idle.indexOf(process)
      if (index >= 0) idle.splice(index, 1)
    })
    all.add(process)
    return process
  }

  return {
    async transform(work, read, transform) {
      if (!isInstalled()) throw storageErrors.imagesUnavailable()
      return await queue.run(work, async () => {
        const bytes = await read()
        if (bytes === undefined) return undefined
        const process = idle.pop() ?? start()
        return await process.make(bytes, transform).finally(() => {
          if (!process.hasEnded) idle.push(process)
        })
      })
    },
    stop() {
      queue.stop()
      for (const process of all) process.end()
    },
  }
}

/** Checks whether sharp is installed. It is optional: npm leaves it out on platforms that it has no binary for. */
function isInstalled(): boolean {
  try {
    return createRequire(import.meta.url).resolve('sharp') !== ''
  } catch {
    return false
  }
}

/** One child process, which has at most one image at a time. */
class ImageProcess {
  readonly #child: ChildProcess
  #settle: ((result: ImageResult | 'ended') => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #nextId = 1
  hasEnded = false

  constructor(onEnd: () => void) {
    const program = join(import.meta.dirname, `image-process${extname(import.meta.filename)}`)
    this.#child = fork(program, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // It may read files, sharp's own, and do nothing else (Node.js, Permission Model); of the environment it sees nothing.
      execArgv: ['--permission', '--allow-addons', '--allow-fs-read=*', '--max-old-space-size=128'],
      env: { MALLOC_ARENA_MAX: '2' },
    })
    this.#child.unref()
    this.#child.channel?.unref()
    const ended = () => {
      if (this.hasEnded) return
      this.hasEnded = true
      clearTimeout(this.#timer)
      onEnd()
      this.#settle?.('ended')
    }
    this.#child.on('error', ended).on('exit', ended)
    this.#child.on('message', (result: ImageResult) => this.#settle?.(result))
  }

  async make(bytes: Buffer, transform: Transform): Promise<Buffer> {
    const id = this.#nextId++
    const { promise, resolve } = Promise.withResolvers<ImageResult | 'ended'>()
    this.#settle = resolve
    this.#endAfter(timeoutMs)
    if (this.hasEnded) resolve('ended')
    else this.#child.send({ id, bytes, transform }, (error) => error !== null && resolve('ended'))
    const result = await promise
    this.#settle = undefined
    if (result !== 'ended') this.#endAfter(idleMs)
    if (result === 'ended' || result.bytes === undefined) throw storageErrors.imageProcessingFailed()
    return Buffer.from(result.bytes.buffer, result.bytes.byteOffset, result.bytes.byteLength)
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }

  #endAfter(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.end(), milliseconds).unref()
  }
}
