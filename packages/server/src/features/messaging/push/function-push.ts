import { defaultAppId } from '../../../http/access/identity.ts'
import { type JobQueue, JobRefused, type MessageJobs } from '../../../job-queue.ts'
import { AppError } from '../../../lib/errors.ts'
import { findMismatch } from '../../../lib/is-of.ts'
import { requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import { type AddSendDeps, addSendToMany } from './add-send.ts'
import type { PushConfig } from './config.ts'
import { pushErrors } from './errors.ts'
import { readIdempotencyKey, readInstant, readMessage, SendInput } from './message.ts'
import { readTarget } from './operations/messages.ts'
import { requireId } from './parameters.ts'

const job = 'function_push'
const retry = { attempts: 5, delay: 5, delayMax: 300, backoff: 3 }

export interface FunctionPushDeps extends AddSendDeps {
  readonly config: PushConfig
  readonly queue: JobQueue
  readonly throttle: Throttle
}

interface Payload {
  readonly input: SendInput
  readonly userId?: string
}

/** Defines the job for messages of functions, and returns them. */
export function functionPush(deps: FunctionPushDeps): MessageJobs {
  const { config, throttle, queue } = deps
  queue.define<Payload>({
    name: job,
    retry,
    timeout: 120,
    isAvailable: () => config.enabled,
    findProblem: () => 'only functions add it, by ctx.push',
    handle: (payload, { id }) => add(deps, payload, id),
  })
  return {
    job,
    attempts: retry.attempts,
    async prepare(message, { userId, limitKey }) {
      if (!config.enabled) throw pushErrors.pushDisabled()
      const input = readInput(message)
      requireId('app_id', appOf(input))
      readTarget(input)
      readMessage(input)
      readInstant(input.send_at)
      readIdempotencyKey(input.idempotency_key)
      if (limitKey !== undefined) {
        const limit = { name: 'push.user', attempts: config.policy.sends_per_hour, windowSeconds: 3600 }
        requireAllowed(await throttle.attempt(limit, limitKey), pushErrors.pushLimitReached())
      }
      const payload: Payload = { input, ...(userId === undefined ? {} : { userId }) }
      return [payload]
    },
  }
}

async function add(deps: FunctionPushDeps, { input, userId }: Payload, id: string): Promise<void> {
  const { idempotency_key: key = id } = input
  const sender = { actor: 'function', detail: { userId } } as const
  try {
    await addSendToMany(deps, appOf(input), readTarget(input), { ...input, idempotency_key: key }, sender)
  } catch (error) {
    throw error instanceof AppError && error.status < 500 ? new JobRefused(error.message) : error
  }
}

function appOf({ app_id: appId = defaultAppId }: SendInput): string {
  return appId
}

/** Members other than texts, as messages name them. */
const objects: ReadonlyMap<string, string> = new Map([
  ['data', 'an object of texts'],
  ['options', 'an object of options'],
])

/** @throws AppError invalid_push */
function readInput(message: object): SendInput {
  const { token_id: _, ...properties } = SendInput.properties
  const unknown = Object.keys(message).find((name) => !Object.hasOwn(properties, name))
  if (unknown !== undefined) throw pushErrors.invalidPush(`unknown member "${unknown}"`)
  const mismatch = findMismatch(properties, message)
  if (mismatch !== undefined)
    throw pushErrors.invalidPush(`${mismatch}: expected ${objects.get(mismatch) ?? 'a text'}`)
  // Each member has been checked.
  return message as SendInput
}
