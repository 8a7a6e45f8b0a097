import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { codeOf } from '../../../lib/errors.ts'
import { mailErrors } from './errors.ts'
import type { TemplateSource } from './parse-template.ts'
import * as schemas from './schemas.ts'
import type { MailService } from './service.ts'
import { requireTemplateKey } from './template-key.ts'
import { userMailRoutes } from './user-mail/routes.ts'
import type { UserMail } from './user-mail/service.ts'

const path = '/api/admin/email/templates'

/** Room for the largest template with every character escaped. */
const bodyLimit = 2 * 1024 * 1024

/** Email templates and sending by hand. */
export function mailRoutes(app: HttpServer, service: MailService, userMail: UserMail): void {
  void app.register(async (scope: HttpServer) => {
    // Too large is a 400 here, unlike elsewhere.
    scope.setErrorHandler((error, _request, reply) => {
      const isTooLarge = codeOf(error) === 'FST_ERR_CTP_BODY_TOO_LARGE'
      return reply.send(
        isTooLarge ? mailErrors.templateTooLarge(`the body exceeds ${bodyLimit} bytes`) : error,
      )
    })

    scope.get(
      path,
      { config: { guard: 'admin', operation: 'mail.listTemplates' }, schema: schemas.listTemplatesSchema },
      async (_request, reply) => {
        const items = await service.list()
        return reply.send({ items, count: items.length })
      },
    )

    scope.get(
      `${path}/:key`,
      { config: { guard: 'admin', operation: 'mail.getTemplate' }, schema: schemas.getTemplateSchema },
      async (request, reply) => reply.send(await service.get(requireTemplateKey(request.params.key))),
    )

    scope.put(
      `${path}/:key`,
      {
        config: { guard: 'admin', operation: 'mail.putTemplate' },
        schema: schemas.putTemplateSchema,
        bodyLimit,
      },
      async (request, reply) => {
        const key = requireTemplateKey(request.params.key)
        const { replaces } = request.body
        return reply.send(await service.put(key, requireSource(request.body), replaces, originOf(request)))
      },
    )

    scope.patch(
      `${path}/:key`,
      { config: { guard: 'admin', operation: 'mail.patchTemplate' }, schema: schemas.patchTemplateSchema },
      async (request, reply) => {
        const templateKey = requireTemplateKey(request.params.key)
        const { enabled } = request.body
        if (enabled === undefined) throw mailErrors.missingTemplateField('enabled field')
        await service.setEnabled(templateKey, enabled, originOf(request))
        return reply.send({ templateKey, enabled })
      },
    )

    scope.delete(
      `${path}/:key`,
      { config: { guard: 'admin', operation: 'mail.deleteTemplate' }, schema: schemas.deleteTemplateSchema },
      async (request, reply) => {
        await service.delete(requireTemplateKey(request.params.key), originOf(request))
        return reply.code(204).send()
      },
    )

    scope.post(
      `${path}/:key/preview`,
      {
        config: { guard: 'admin', operation: 'mail.previewTemplate' },
        schema: schemas.previewTemplateSchema,
        bodyLimit,
      },
      async (request, reply) => {
        requireTemplateKey(request.params.key)
        return reply.send(service.preview(requireSource(request.body), request.body.variables ?? {}))
      },
    )

    scope.post(
      '/api/admin/email/send',
      {
        config: { guard: 'admin', operation: 'mail.send' },
        schema: schemas.sendMailSchema,
        bodyLimit,
      },
      async (request, reply) => {
        const { templateKey, to, variables = {} } = request.body
        const key = requireTemplateKey(requireText('templateKey', templateKey))
        const recipient = requireText('to', to?.trim())
        await service.send(key, recipient, variables, originOf(request))
        return reply.send({ status: 'sent' })
      },
    )

    userMailRoutes(scope, userMail, bodyLimit)
  })
}

function requireSource(body: Partial<TemplateSource>): TemplateSource {
  return {
    subjectTemplate: requireText('subjectTemplate', body.subjectTemplate),
    htmlTemplate: requireText('htmlTemplate', body.htmlTemplate),
  }
}

function requireText(field: string, value: string | undefined): string {
  if (value === undefined || value === '') throw mailErrors.missingTemplateField(field)
  return value
}
