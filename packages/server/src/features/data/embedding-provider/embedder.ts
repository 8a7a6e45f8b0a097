import { setTimeout as delay } from 'node:timers/promises'
import { secondsBeforeRetry } from '../../../lib/retry-policy.ts'
import { systemTimer } from '../../../lib/timer.ts'
import { Breaker } from './breaker.ts'
import type { AiConfig } from './config.ts'
import { embeddingErrors } from './errors.ts'
import { exchange } from './exchange.ts'
import { type EmbeddingModel, findModel } from './model.ts'

/** Embedder of texts. */
export interface Embedder {
  readonly model: EmbeddingModel
  /**
   * Returns the vectors of the texts, in order.
   *
   * @param longestPause seconds; a longer pause requested by the provider fails at once
   * @throws AppError embedding_…, no_embedding
   */
  embed(
    texts: readonly string[],
    signal?: AbortSignal,
    longestPause?: number,
  ): Promise<readonly (readonly number[])[]>
  /** State of the circuit breaker of this node. */
  readonly breaker: Pick<Breaker, 'state' | 'secondsClosedOff'>
}

export interface Embedders {
  /**
   * Finds an embedder; undefined when the configuration lacks the provider or the model. @param model as in {@link
   * findModel}
   */
  find(model?: string): Embedder | undefined
}

/** Pauses between attempts, in seconds. Each is lengthened by a random jitter of up to a half. */
const pauses = { delay: 0.25, delayMax: 10, backoff: 2 }

export function createEmbedders(config: AiConfig): Embedders {
  const { breaker: limits } = config
  const breakers = new Map<string, Breaker>()
  const breakerOf = ({ provider }: EmbeddingModel) => {
    const known = breakers.get(provider)
    if (known !== undefined) return known
    const options = {
      failureThreshold: limits.failure_threshold,
      openSeconds: limits.open_seconds,
      probeLimit: limits.half_open_probe_limit,
    }
    const breaker = new Breaker(options, systemTimer)
    breakers.set(provider, breaker)
    return breaker
  }
  return {
    find(name) {
      const model = findModel(config, name)
      if (model === undefined) return undefined
      const breaker = breakerOf(model)
      return { model, embed: createEmbed(model, breaker, config), breaker }
    },
  }
}

function createEmbed(
  model: EmbeddingModel,
  breaker: Breaker,
  { timeout, max_retries }: AiConfig,
): Embedder['embed'] {
  const policy = { ...pauses, attempts: max_retries + 1 }
  return async (texts, signal, longestPause = timeout) => {
    const permit = breaker.enter()
    if (permit === undefined) {
      throw embeddingErrors.embeddingBreakerOpen().retryAfter(Math.max(1, breaker.secondsClosedOff))
    }
    const deadline = AbortSignal.timeout(timeout * 1000)
    const endsAt = performance.now() + timeout * 1000
    const both = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
    for (let attempt = 1; ; attempt += 1) {
      const exchanged = await exchange(model, texts, both)
      if (exchanged.kind === 'embedded') {
        permit.succeeded()
        return exchanged.vectors
      }
      if (signal?.aborted === true) {
        permit.released()
        throw embeddingErrors.embeddingCanceled()
      }
      if (deadline.aborted) {
        permit.failed()
        throw embeddingErrors.embeddingTimeout()
      }
      const pause = exchanged.isTransient ? secondsBeforeRetry(policy, attempt) : undefined
      const seconds =
        pause === undefined ? undefined : Math.max(pause * (1 + Math.random() / 2), exchanged.retryAfter ?? 0)
      const isTooLong = (exchanged.retryAfter ?? 0) > longestPause
      // An attempt that could only start after the time limit is not waited for.
      if (seconds === undefined || isTooLong || performance.now() + seconds * 1000 >= endsAt) {
        if (exchanged.isOutage) permit.failed()
        else permit.released()
        throw exchanged.error
      }
      await delay(seconds * 1000, undefined, { signal: both }).catch(() => undefined)
    }
  }
}
