import { acceptRaw } from '../../../http/requests/body.ts'
import { readForm } from '../../../http/requests/multipart.ts'
import type { HttpServer } from '../../../http/server.ts'
import { isSameSignature } from '../../../lib/signatures.ts'
import { supportErrors } from './errors.ts'
import { readInboundMail } from './inbound-mail.ts'
import { inboundSchema } from './schemas.ts'
import type { SupportService } from './service.ts'

const bodyLimit = 2 * 1024 * 1024

/** `POST /api/webhooks/support/email`: mail, as gateways post it. */
export function inboundMailRoute(app: HttpServer, service: SupportService, secret: string): void {
  void app.register(async (scope: HttpServer) => {
    acceptRaw(scope)
    scope.addHook('onRequest', async (_request, reply) => {
      void reply.header('cache-control', 'no-store')
    })
    // Before anything is read.
    scope.addHook('preParsing', async (request) => {
      const { 'x-webhook-secret': given } = request.headers
      if (secret === '' || typeof given !== 'string' || !isSameSignature(given, secret)) {
        throw supportErrors.invalidSupportAuth()
      }
    })
    scope.post(
      '/api/webhooks/support/email',
      { config: { guard: 'public', operation: 'support.receiveMail' }, schema: inboundSchema, bodyLimit },
      async (request, reply) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const form = await readForm(body, request.headers['content-type'] ?? '')
        if (form === undefined) throw supportErrors.invalidSupportForm()
        const message = await service.receive(readInboundMail(form))
        return reply.send(message ?? { ok: true })
      },
    )
  })
}
