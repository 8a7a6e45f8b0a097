import type { Logger } from 'pino'
import { WriteBehind } from '../../../database/write-behind.ts'
import type { Feature } from '../../../feature.ts'
import type { Metrics } from '../../../http/observation/metrics.ts'
import { postJson } from '../../../http/post-json.ts'
import { messageOf } from '../../../lib/errors.ts'
import { toOtlpAttributes } from '../../../lib/otlp.ts'
import { TaskQueue } from '../../../lib/task-queue.ts'
import type { TelemetryConfig } from './config.ts'
import { type OtlpSpan, Tracer } from './tracer.ts'

const everyMs = 2000
const batchSize = 500
/** Maximum number of spans that wait while the collector is unavailable. */
const capacity = 20_000

export interface TelemetryDeps {
  readonly config: TelemetryConfig
  readonly node: string
  readonly version: string
  readonly metrics: Metrics
  readonly log: Logger
}

/**
 * Creates the feature that sends traces to a collector by OTLP/HTTP in JSON. It is loaded only where a
 * collector is configured.
 */
export function createTelemetry({ config, node, version, metrics, log }: TelemetryDeps): {
  readonly tracer: Tracer
  readonly feature: Feature
} {
  const url = `${config.otlp_endpoint.replace(/\/$/, '')}/v1/traces`
  const headers = readHeaders(config.otlp_headers)
  const resource = {
    attributes: toOtlpAttributes({
      'service.name': config.service_name,
      'service.version': version,
      'service.instance.id': node,
    }),
  }
  let refused = 0
  const queue = new WriteBehind<OtlpSpan>({
    createBatch: () => [],
    async write(spans) {
      const scopeSpans = [{ scope: { name: 'basalt', version }, spans }]
      if (!(await postJson(url, headers, { resourceSpans: [{ resource, scopeSpans }] })))
        refused += spans.length
    },
    lane: new TaskQueue(),
    everyMs,
    batchSize,
    capacity,
    onFailure: (error) =>
      log.warn({ reason: messageOf(error) }, `failed to send traces; retrying every ${everyMs / 1000} s`),
  })
  metrics.watchDropped('traces', () => queue.dropped + refused)
  const tracer = new Tracer({ export: (span) => queue.add(span), samplePercent: config.sample_percent })
  return {
    tracer,
    feature: {
      name: 'telemetry',
      routes: (app) => tracer.traceRequests(app),
      start: () => queue.start(),
      stop: () => queue.stop(),
    },
  }
}

/** Parses headers of the form `name=value,other=value`. */
function readHeaders(text: string): Record<string, string> {
  const pairs = text === '' ? [] : text.split(',')
  return Object.fromEntries(
    pairs.map((pair) => {
      const end = pair.indexOf('=')
      return [pair.slice(0, end).trim(), pair.slice(end + 1).trim()]
    }),
  )
}
