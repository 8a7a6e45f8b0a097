import type { Logger } from 'pino'
import type { LoggingConfig } from '../../../config/logging.ts'
import { WriteBehind } from '../../../database/write-behind.ts'
import type { Metrics } from '../../../http/observation/metrics.ts'
import { postJson } from '../../../http/post-json.ts'
import { messageOf } from '../../../lib/errors.ts'
import { toOtlpAttributes, toOtlpTime } from '../../../lib/otlp.ts'
import { TaskQueue } from '../../../lib/task-queue.ts'
import { type LogLine, nameLevel } from './line.ts'

const everyMs = 1000
const batchSize = 500
/** Maximum number of entries that wait while a receiver is unavailable. */
const capacity = 10_000

type DrainConfig = LoggingConfig['drains'][string]

export interface DrainsOptions {
  readonly drains: LoggingConfig['drains']
  readonly serviceName: string
  readonly node: string
  readonly metrics: Metrics
  /** Log for failures of the drains themselves, which must not be sent to them. */
  readonly log: Logger
}

/** Receiver of the log. */
export interface LogDrain {
  add(entry: LogLine): void
  start(): void
  stop(): Promise<void>
}

/** Creates the receivers of the configuration, each with a queue of its own. */
export function createDrains({ drains, serviceName, node, metrics, log }: DrainsOptions): LogDrain[] {
  return Object.entries(drains).map(([name, drain]) => {
    let refused = 0
    const queue = new WriteBehind<LogLine>({
      createBatch: () => [],
      async write(entries) {
        const body =
          drain.type === 'otlp' ? formatOtlp(entries, serviceName, node) : formatJson(entries, node)
        if (!(await postJson(drain.url, headersOf(drain), body))) refused += entries.length
      },
      lane: new TaskQueue(),
      everyMs,
      batchSize,
      capacity,
      onFailure: (error) =>
        log.warn(
          { drain: name, reason: messageOf(error) },
          `failed to send the log; retrying every ${everyMs / 1000} s`,
        ),
    })
    metrics.watchDropped(`drain ${name}`, () => queue.dropped + refused)
    return queue
  })
}

function headersOf({ headers = {} }: DrainConfig): Record<string, string> {
  return { ...headers }
}

function formatJson(entries: readonly LogLine[], node: string): unknown {
  return entries.map(({ time, level, message, attrs, requestId }) => ({
    time: time.toISOString(),
    level: nameLevel(level),
    message,
    attrs,
    node,
    requestId: requestId ?? null,
  }))
}

/** SeverityNumber (OpenTelemetry, Logs Data Model) of the levels 10, 20 … 60. */
const severities = [1, 5, 9, 13, 17, 21]

function formatOtlp(entries: readonly LogLine[], serviceName: string, node: string): unknown {
  const resource = toOtlpAttributes({ 'service.name': serviceName, 'service.instance.id': node })
  const logRecords = entries.map(({ time, level, message, attrs, requestId }) => ({
    timeUnixNano: toOtlpTime(time.getTime()),
    severityNumber: severities[Math.min(5, Math.max(0, Math.floor(level / 10) - 1))],
    severityText: nameLevel(level).toUpperCase(),
    body: { stringValue: message },
    attributes: toOtlpAttributes({ ...attrs, 'request.id': requestId }),
  }))
  return {
    resourceLogs: [
      { resource: { attributes: resource }, scopeLogs: [{ scope: { name: 'basalt' }, logRecords }] },
    ],
  }
}
