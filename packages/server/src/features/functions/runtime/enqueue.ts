import { statement } from '../../../database/connection/message.ts'
import type { MessageJobs, MessageSender } from '../../../job-queue.ts'
import { isObject } from '../../../lib/json.ts'
import { isStorableJson, isStorableText } from '../../../lib/storable-text.ts'
import { runtimeErrors } from './errors.ts'
import type { EnqueueRequest, SendRequest } from './messages.ts'
import type { Seals } from './seals.ts'
import type { CallWork } from './transaction.ts'

const payloadLimit = 65_536
const keyLimit = 200
/** Last time that both PostgreSQL and JavaScript know, in milliseconds. */
const latest = 8.64e15

const addBroadcast = statement('select basalt.broadcast_sealed($1, $2)')
const addJob = statement('select basalt.enqueue_sealed($1, $2)')

export interface EnqueueingDeps {
  readonly seals: Seals
  /** Starts due jobs, after the commit. */
  readonly wake: () => void
  readonly messages: FunctionMessages
}

/** Messages that functions send. */
export interface FunctionMessages {
  readonly mail: MessageJobs
  readonly push: MessageJobs
  readonly broadcasts: {
    /** @throws AppError */
    readonly read: (message: object) => object
    readonly announce: () => void
  }
}

/** Origin of a job that a function adds. */
export interface JobOrigin {
  /** Id of the user on whose behalf it is added. */
  readonly queuedBy: string | undefined
  /** Number of attempts, if the functions of the call define the job. They may have been replaced meanwhile. */
  readonly attempts: number | undefined
  /** Hash of the deploy that is to run it; undefined for the live one. */
  readonly deploy: string | undefined
}

/** Adds jobs and messages of functions, each in the transaction of its call. */
export class Enqueueing {
  readonly #deps: EnqueueingDeps

  constructor(deps: EnqueueingDeps) {
    this.#deps = deps
  }

  /**
   * Adds a job, and returns its id.
   *
   * @param findProblem of the payload
   * @throws AppError invalid_enqueue; StatementFailed
   */
  async add(
    { job: type, payload: text, key, at }: EnqueueRequest,
    work: CallWork,
    origin: JobOrigin,
    findProblem: (type: string, payload: object) => string | undefined,
  ): Promise<string> {
    const payload: unknown = JSON.parse(text)
    if (Buffer.byteLength(text) > payloadLimit)
      throw runtimeErrors.invalidEnqueue(`payload: at most ${payloadLimit} bytes`)
    if (!isObject(payload) || !isStorableJson(payload))
      throw runtimeErrors.invalidEnqueue('payload: expected an object of JSON, without the character U+0000')
    if (key !== undefined && (key === '' || key.length > keyLimit || !isStorableText(key)))
      throw runtimeErrors.invalidEnqueue(`key: expected 1 to ${keyLimit} characters`)
    if (at !== undefined && !(Math.abs(at) <= latest))
      throw runtimeErrors.invalidEnqueue('at: expected a time')
    const problem = findProblem(type, payload)
    if (problem !== undefined) throw runtimeErrors.invalidEnqueue(`payload of ${type}: ${problem}`)
    const [id] = await this.#add([{ type, payload, key, at, ...origin }], work)
    if (id === undefined) throw runtimeErrors.invalidEnqueue(`there is no job ${JSON.stringify(type)}`)
    work.statements.note({ kind: 'job', members: { id, job: type, payload, key, at } })
    return id
  }

  /** Adds a message, as jobs or as a broadcast. @throws AppError; StatementFailed */
  async send({ kind, body }: SendRequest, work: CallWork, sender: MessageSender): Promise<void> {
    const message: unknown = JSON.parse(body)
    if (!isObject(message) || !isStorableJson(message))
      throw runtimeErrors.invalidFunctionMessage('expected an object of JSON, without the character U+0000')
    const { messages } = this.#deps
    if (kind === 'broadcast') {
      const broadcast = JSON.stringify(messages.broadcasts.read(message))
      const values = [broadcast, await this.#deps.seals.of(`broadcast ${broadcast}`)]
      await work.statements.run([{ statement: addBroadcast, values, asLogin: true }])
      work.statements.note({ kind, members: message })
      work.onCommit(messages.broadcasts.announce)
      return
    }
    const { job: type, attempts, prepare } = messages[kind]
    const payloads = await prepare(message, sender)
    await this.#add(
      payloads.map((payload) => ({ type, payload, attempts, queuedBy: sender.userId })),
      work,
    )
    work.statements.note({ kind, members: message })
  }

  /** Adds jobs, all or none. @returns their ids; undefined for one whose type no node has */
  async #add(descriptions: readonly object[], work: CallWork): Promise<(string | undefined)[]> {
    const steps = await Promise.all(
      descriptions.map(async (description) => {
        const job = JSON.stringify(description)
        return { statement: addJob, values: [job, await this.#deps.seals.of(job)], asLogin: true } as const
      }),
    )
    const answers = await work.statements.run(steps)
    work.onCommit(this.#deps.wake)
    return answers.map(({ rows }) => rows[0]?.[0] ?? undefined)
  }
}
