import type { FastifyRequest } from 'fastify'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { addOperations, ok, operation } from '../../../../http/operation.ts'
import { acceptRaw } from '../../../../http/requests/body.ts'
import type { HttpServer } from '../../../../http/server.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { Type } from '../../../../lib/type.ts'
import type { SmsProviderConfig } from '../config.ts'
import { smsErrors } from '../errors.ts'
import { applyReport } from '../store.ts'
import type { StatusCallback } from './callback.ts'
import { plivoCallback } from './plivo.ts'
import { telnyxCallback } from './telnyx.ts'
import { twilioCallback } from './twilio.ts'
import { vonageCallback } from './vonage.ts'
import { webhookCallback } from './webhook.ts'

export interface CallbackDeps {
  readonly config: SmsProviderConfig
  readonly database: SystemDatabase
  readonly clock: Clock
  readonly publicBaseUrl: () => string
}

/** Report in the format of its provider. */
const report = { schema: Type.Object({}, { additionalProperties: true }) }

const signature = Type.Optional(Type.String())

/** Receives reports of every provider with configured keys, since messages outlive a change of the provider. */
const reportStatus = operation({
  id: 'sms.reportStatus',
  guard: 'public',
  method: 'POST',
  path: '/api/webhooks/sms/status',
  tag: 'callbacks',
  summary: 'Receive the status of a text message from its provider',
  description:
    'The provider signs the report, in its documented format. Reports arrive in any order and more than once, and a status never goes back. Unknown messages and statuses are ignored. At most 64 KiB.',
  headers: Type.Object({
    'x-twilio-signature': signature,
    'x-plivo-signature-v3': signature,
    'telnyx-signature-ed25519': signature,
    'x-webhook-signature': signature,
  }),
  documentedBody: {
    required: true,
    content: { 'application/json': report, 'application/x-www-form-urlencoded': report },
  },
  bodyLimit: 64 * 1024,
  success: ok(Type.Object({})),
  async handle(deps: CallbackDeps & { readonly callbacks: readonly StatusCallback[] }, { http }) {
    const { headers } = http
    const body = Buffer.isBuffer(http.body) ? http.body : Buffer.alloc(0)
    const callback = deps.callbacks.find(({ header }) => headers[header] !== undefined)
    if (callback?.isSigned({ headers, body, urls: urlsOf(http, deps), now: deps.clock.now() }) !== true) {
      throw httpErrors.invalidWebhookSignature()
    }
    const { messageId, status, error } = callback.read(body)
    if (messageId === undefined) throw smsErrors.missingSmsField(callback.idName)
    const { provider } = callback
    if (status !== undefined) await applyReport(deps.database, { provider, messageId, status, error })
    return {}
  },
})

/** Adds the callback of providers. Its signature covers the bytes of the body. */
export function addCallback(app: HttpServer, deps: CallbackDeps): void {
  const callbacks = configuredCallbacks(deps.config)
  void app.register(async (scope: HttpServer) => {
    acceptRaw(scope)
    scope.addHook('onRequest', async (_request, reply) => {
      void reply.header('cache-control', 'no-store')
    })
    addOperations(scope, { ...deps, callbacks }, [reportStatus])
  })
}

function configuredCallbacks(config: SmsProviderConfig): readonly StatusCallback[] {
  const of = (key: string, create: (key: string) => StatusCallback) => (key === '' ? [] : [create(key)])
  return [
    ...of(config.twilio_token, twilioCallback),
    ...of(config.plivo_auth_token, plivoCallback),
    ...of(config.telnyx_public_key, telnyxCallback),
    ...of(config.sms_webhook_secret, webhookCallback),
    ...of(config.vonage_signature_secret, (secret) => vonageCallback(secret, config.vonage_api_key)),
  ]
}

/**
 * Returns the possible addresses of this server. Two nodes behind a proxy may know different names. The name
 * in the request is safe to try, because a signature for it requires the key.
 */
function urlsOf(request: FastifyRequest, { config, publicBaseUrl }: CallbackDeps): readonly string[] {
  const configured = config.sms_status_url === '' ? [] : [config.sms_status_url]
  const bases = [publicBaseUrl(), `${request.protocol}://${request.host}`]
  return [...new Set([...configured, ...bases.map((base) => base.replace(/\/$/, '') + request.url)])]
}
