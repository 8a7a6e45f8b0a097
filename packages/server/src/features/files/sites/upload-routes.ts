import type { HttpServer } from '../../../http/server.ts'
import { codeOf } from '../../../lib/errors.ts'
import type { FileService } from './administration/files.ts'
import { siteErrors } from './errors.ts'
import { addFilesSchema, uploadFileSchema } from './schemas.ts'

const path = '/api/admin/sites/:siteId/deploys/:deployId'

/** Of a form beside the content of its file: boundaries, headers and the name. */
const formBytes = 16 * 1024
const manifestLimit = 16 * 1024 * 1024

/** What deploys are made of. */
export function uploadRoutes(app: HttpServer, files: FileService, maxFileSize: number): void {
  app.post(
    `${path}/manifest`,
    {
      config: { guard: 'admin', operation: 'sites.addFiles' },
      schema: addFilesSchema,
      bodyLimit: manifestLimit,
    },
    async ({ params, body }, reply) =>
      reply.send({ missing: await files.addKnown(params.siteId, params.deployId, body.files) }),
  )

  void app.register(async (scope: HttpServer) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    scope.setErrorHandler((error, _request, reply) => {
      const isTooLarge = codeOf(error) === 'FST_ERR_CTP_BODY_TOO_LARGE'
      return reply.send(isTooLarge ? siteErrors.siteFileTooLarge(maxFileSize) : error)
    })
    scope.post(
      `${path}/files`,
      {
        config: { guard: 'admin', operation: 'sites.uploadFile' },
        schema: uploadFileSchema,
        bodyLimit: maxFileSize + formBytes,
      },
      async ({ params, body, headers }, reply) => {
        const form = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
        const type = headers['content-type'] ?? ''
        return reply.code(201).send(await files.upload(params.siteId, params.deployId, form, type))
      },
    )
  })
}
