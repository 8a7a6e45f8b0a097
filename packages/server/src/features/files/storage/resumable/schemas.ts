import { bearerSecurity, binary, bodyOf, noContent, responses } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'

const tags = ['storage']
const security = bearerSecurity

const idParams = Type.Object({ id: Type.String({ description: 'UUID of the upload.' }) })

export const createUploadSchema = {
  tags,
  security,
  summary: 'Begin a resumable upload',
  description:
    'The protocol is tus 1.0 with the extensions creation, creation-with-upload, expiration and termination: every request carries `Tus-Resumable: 1.0.0`, this one `Upload-Length` as well. `Location` says where the bytes go.',
  querystring: Type.Object({
    bucket: Type.Optional(Type.String()),
    name: Type.Optional(
      Type.String({ description: 'Of the object; or `name` or `filename` of `Upload-Metadata`.' }),
    ),
  }),
  documentedBody: bodyOf('application/offset+octet-stream', binary, false),
  response: responses({
    201: Type.Object({
      id: Type.String(),
      bucket: Type.String(),
      name: Type.String(),
      totalSize: Type.Integer({ description: 'Bytes.' }),
      status: Type.String({ description: 'active or completed' }),
      expiresAt: Type.Integer({
        description: 'Seconds since 1970; 24 hours after the last bytes came.',
      }),
      uploadType: Type.String({ description: 'resumable' }),
    }),
  }),
}

export const findUploadSchema = { params: idParams }

export const addToUploadSchema = {
  tags,
  security,
  summary: 'Add bytes to a resumable upload',
  description:
    'From `Upload-Offset` on. What comes before the request is cut is kept; HEAD answers how far that is. The last bytes make the object.',
  documentedBody: bodyOf('application/offset+octet-stream', binary),
  params: idParams,
  response: responses({ 204: noContent }),
}

export const overrideUploadMethodSchema = {
  ...addToUploadSchema,
  summary: 'Add to or end a resumable upload, by POST',
  description:
    'For clients behind what lets no other methods pass: what `X-HTTP-Method-Override` names, PATCH or DELETE, is done.',
}

export const terminateUploadSchema = {
  tags,
  security,
  summary: 'End a resumable upload',
  description: 'An object that it has become stays.',
  params: idParams,
  response: responses({ 204: noContent }),
}
