import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { StatementObserver } from '../../../database/statement-observer.ts'
import { codeOf } from '../../../lib/errors.ts'
import { type OtlpAttribute, toOtlpAttributes, toOtlpTime } from '../../../lib/otlp.ts'

/** Finished span (OpenTelemetry Protocol, Traces). */
export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  /** Additions of other tracing systems (W3C Trace Context §3.3), as the client sent them. */
  readonly traceState?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly OtlpAttribute[]
  readonly status: { readonly code?: number }
}

const kinds = { server: 2, client: 3 } as const
const failed = { code: 2 } as const

/** Span that statements of a request belong to. */
interface ActiveSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly traceState: string | undefined
  readonly startedAt: number
}

/** Maximum length of a statement in a span, in characters. */
const longestStatement = 4096

export interface TracerOptions {
  readonly export: (span: OtlpSpan) => void
  readonly samplePercent: number
}

/** Tracer of requests and of the statements they send. */
export class Tracer {
  readonly #options: TracerOptions
  readonly #active = new AsyncLocalStorage<ActiveSpan>()
  readonly #spans = new WeakMap<FastifyRequest, ActiveSpan>()

  constructor(options: TracerOptions) {
    this.#options = options
  }

  /** Traces the requests of the server. It must be called before its routes are added. */
  traceRequests(app: FastifyInstance): void {
    app.addHook('onRequest', (request, _reply, done) => {
      const span = this.#begin(request)
      if (span === undefined) return done()
      this.#spans.set(request, span)
      this.#active.run(span, done)
    })
    // The body is read outside the context that the previous hook started.
    app.addHook('preHandler', (request, _reply, done) => {
      const span = this.#spans.get(request)
      if (span === undefined) done()
      else this.#active.run(span, done)
    })
    app.addHook('onResponse', (request, reply, done) => {
      const span = this.#spans.get(request)
      if (span !== undefined) {
        const { url, config } = request.routeOptions
        this.#end(
          span,
          kinds.server,
          request.is404 ? request.method : `${request.method} ${url}`,
          reply.statusCode >= 500,
          {
            'http.request.method': request.method,
            'http.route': request.is404 ? undefined : url,
            'url.path': request.url.split('?', 1)[0],
            'http.response.status_code': reply.statusCode,
            'client.address': request.ip,
            'basalt.operation': config.operation,
            'basalt.request_id': request.id,
          },
        )
      }
      done()
    })
  }

  readonly observeStatements: StatementObserver = (text) => {
    const parent = this.#active.getStore()
    if (parent === undefined) return undefined
    const span = {
      traceId: parent.traceId,
      spanId: newId(8),
      parentSpanId: parent.spanId,
      traceState: parent.traceState,
      startedAt: now(),
    }
    return (error) => {
      const statement = text().slice(0, longestStatement)
      this.#end(span, kinds.client, /\w+/.exec(statement)?.[0] ?? 'statement', error !== undefined, {
        'db.system.name': 'postgresql',
        'db.query.text': statement,
        'db.response.status_code': error instanceof Error ? codeOf(error.cause ?? error) : undefined,
      })
    }
  }

  #begin({ headers: { traceparent, tracestate } }: FastifyRequest): ActiveSpan | undefined {
    // W3C Trace Context §3.2: version, trace, parent, and flags, of which the lowest bit means "sampled".
    const parent = typeof traceparent === 'string' ? traceparentForm.exec(traceparent) : null
    const [, traceId, parentSpanId, flags = ''] = parent ?? []
    const isSampled =
      parent === null
        ? Math.random() * 100 < this.#options.samplePercent
        : (Number.parseInt(flags, 16) & 1) === 1
    if (!isSampled) return undefined
    // Without a trace of the client its state is meaningless (§3.3.1.5).
    const traceState = parent === null ? undefined : readTraceState(tracestate)
    return { traceId: traceId ?? newId(16), spanId: newId(8), parentSpanId, traceState, startedAt: now() }
  }

  #end(
    { traceId, spanId, parentSpanId, traceState, startedAt }: ActiveSpan,
    kind: number,
    name: string,
    isFailed: boolean,
    attributes: Readonly<Record<string, unknown>>,
  ): void {
    this.#options.export({
      traceId,
      spanId,
      ...(parentSpanId === undefined ? {} : { parentSpanId }),
      ...(traceState === undefined ? {} : { traceState }),
      name,
      kind,
      startTimeUnixNano: toOtlpTime(startedAt),
      endTimeUnixNano: toOtlpTime(now()),
      attributes: toOtlpAttributes(attributes),
      status: isFailed ? failed : {},
    })
  }
}

/** Pattern of a traceparent. Ids of zeros are invalid. */
const traceparentForm = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/**
 * Limits of a state: the number of members (§3.3.1.1), and the 512 characters that systems must pass on
 * (§3.3.1.5).
 */
const stateLimits = { members: 32, characters: 512 } as const
const stateMember =
  /^[a-z0-9][a-z0-9_\-*/]{0,255}(?:@[a-z][a-z0-9_\-*/]{0,13})?=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** Returns a state as one list. Returns undefined for an invalid one, which is discarded as a whole (§3.3.1). */
function readTraceState(header: string | readonly string[] | undefined): string | undefined {
  const members = [header ?? []]
    .flat()
    .flatMap((text) => text.split(','))
    .map((member) => member.trim())
    .filter((member) => member !== '')
  const state = members.join(',')
  const isValid = members.every((member) => stateMember.test(member))
  if (!isValid || members.length === 0 || members.length > stateLimits.members) return undefined
  return state.length > stateLimits.characters ? undefined : state
}

function newId(bytes: number): string {
  return randomBytes(bytes).toString('hex')
}

/** Returns the milliseconds since 1970, with fractions. */
function now(): number {
  return performance.timeOrigin + performance.now()
}
