import {
  bearerSecurity,
  binary,
  bodyOf,
  component,
  multipartBody,
  noContent,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { idempotencyHeaders } from '../../data/idempotency/index.ts'

const tags = ['storage']
const security = bearerSecurity
const timestamp = Type.String({ description: 'RFC 3339, UTC.' })

const bucket = component(
  'Bucket',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    public: Type.Boolean({ description: 'Whether everybody may read its objects by their addresses.' }),
    maxFileSize: Type.Optional(Type.Integer({ description: 'Bytes; as configured when absent.' })),
    allowedTypes: Type.Optional(Type.Array(Type.String(), { description: 'Media types; all when absent.' })),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)

const object = component(
  'StorageObject',
  Type.Object({
    id: Type.String(),
    bucket: Type.String(),
    name: Type.String(),
    size: Type.Integer({ description: 'Bytes.' }),
    contentType: Type.String({ description: 'Of the content, whatever the upload said.' }),
    userId: Type.Optional(Type.String({ description: 'The user who made it.' })),
    createdAt: timestamp,
    updatedAt: timestamp,
    url: Type.Optional(Type.String({ description: 'In a public bucket: where everybody can read it.' })),
  }),
)

const bucketSettings = {
  public: Type.Optional(Type.Boolean()),
  maxFileSize: Type.Optional(
    Type.Union([Type.Integer(), Type.Null()], { description: 'Bytes; null: as configured.' }),
  ),
  allowedTypes: Type.Optional(
    Type.Union([Type.Array(Type.String(), { maxItems: 100 }), Type.Null()], {
      description: 'Media types such as `image/png` and `image/*`; null: all.',
    }),
  ),
}

/** Of writes of objects. */
const headers = Type.Object(idempotencyHeaders)

const bucketParams = Type.Object({ bucket: Type.String() })
const objectParams = Type.Object({
  bucket: Type.String(),
  '*': Type.String({ description: 'Name of the object, with its slashes.' }),
})

const signature = {
  exp: Type.Optional(Type.String({ description: 'Of a signed address.' })),
  sig: Type.Optional(Type.String({ description: 'Of a signed address.' })),
}

export const listBucketsSchema = {
  tags,
  security,
  summary: 'List buckets',
  response: responses({ 200: Type.Object({ items: Type.Array(bucket) }) }),
}

export const createBucketSchema = {
  tags,
  security,
  summary: 'Create a bucket',
  body: Type.Object({ name: requiredByHandler(Type.String()), ...bucketSettings }),
  response: responses({ 201: bucket }),
}

export const updateBucketSchema = {
  tags,
  security,
  summary: 'Change a bucket',
  params: bucketParams,
  body: Type.Object(bucketSettings),
  response: responses({ 200: bucket }),
}

export const deleteBucketSchema = {
  tags,
  security,
  summary: 'Delete a bucket',
  params: bucketParams,
  querystring: Type.Object({
    force: Type.Optional(
      Type.Unsafe<'true' | 'false'>(
        Type.String({ pattern: '^(true|false)$', description: 'true: with its objects.' }),
      ),
    ),
  }),
  response: responses({ 204: noContent }),
}

export const listObjectsSchema = {
  tags,
  summary: 'List the objects of a bucket that policies show to the caller',
  params: bucketParams,
  querystring: Type.Object({
    prefix: Type.Optional(Type.String({ description: 'What the names begin with.' })),
    delimiter: Type.Optional(
      Type.String({
        description: 'What names share up to it is listed once, in `prefixes`: `/` for folders.',
      }),
    ),
    limit: Type.Optional(Type.Integer({ description: '1 to 500; 100 unless given.' })),
    cursor: Type.Optional(
      Type.String({
        maxLength: 2000,
        description:
          '`nextCursor` of the page before; empty for the first page. Nothing is counted then, and each page costs the same.',
      }),
    ),
    offset: Type.Optional(
      Type.Integer({ description: 'From 0. A page costs as much as all pages before it: prefer `cursor`.' }),
    ),
    skipTotal: Type.Optional(
      Type.String({ description: '`true` or `false`: the total is not counted, and is -1.' }),
    ),
  }),
  response: responses({
    200: Type.Object({
      items: Type.Array(object),
      prefixes: Type.Optional(Type.Array(Type.String())),
      totalItems: Type.Integer({
        description:
          'Objects and prefixes of all pages; -1 where they are not counted. Counting ends at 10,000 objects, with a delimiter at 1,000 objects and prefixes.',
      }),
      isTotalBounded: Type.Optional(Type.Boolean({ description: 'There are more than `totalItems`.' })),
      nextCursor: Type.Optional(Type.String({ description: 'Where there are more.' })),
    }),
  }),
}

export const uploadFormSchema = {
  tags,
  security,
  summary: 'Upload an object as a form',
  description:
    'Parts: `file`, and `name` unless the file name of the part is that. Replaces the object of this name, where policies permit it.',
  documentedBody: multipartBody(Type.Object({ name: Type.Optional(Type.String()), file: binary })),
  params: bucketParams,
  headers,
  response: responses({ 201: object }),
}

export const putObjectSchema = {
  tags,
  security,
  summary: 'Upload an object as it is',
  description:
    'The body is the content. `If-None-Match: *` does not replace an object, `If-Match` only the one with that tag.',
  documentedBody: bodyOf('application/octet-stream', binary),
  params: objectParams,
  headers,
  querystring: Type.Object(signature),
  response: responses({ 200: object, 201: object }),
}

const transform = {
  w: Type.Optional(Type.String({ description: 'Width of an image in pixels, up to 4096.' })),
  h: Type.Optional(Type.String({ description: 'Height of an image in pixels, up to 4096.' })),
  fit: Type.Optional(
    Type.String({ description: 'contain (within the box), cover (filling it) or fill (stretched).' }),
  ),
  crop: Type.Optional(Type.String({ description: 'What cover keeps: center or smart.' })),
  q: Type.Optional(Type.String({ description: 'Quality, 1 to 100; 80 unless given, 50 for AVIF.' })),
  format: Type.Optional(
    Type.String({
      description: "jpeg, png, webp, avif, or auto: by `Accept`. The object's own unless given.",
    }),
  ),
  fmt: Type.Optional(Type.String({ description: 'The same as `format`.' })),
}

export const getObjectSchema = {
  tags,
  summary: 'Download an object',
  description:
    'With `Range`, `If-None-Match` and the other conditions of RFC 9110. With `w` or `h` a smaller version of a JPEG, PNG or WebP.',
  params: objectParams,
  querystring: Type.Object({
    ...signature,
    download: Type.Optional(
      Type.String({ description: 'To be saved: under this name, or under its own where it is empty.' }),
    ),
    ...transform,
  }),
  response: responses({
    200: {
      description: 'The content.',
      content: { 'application/octet-stream': { schema: binary } },
    },
  }),
}

export const deleteObjectSchema = {
  tags,
  security,
  summary: 'Delete an object',
  params: objectParams,
  headers,
  response: responses({ 204: noContent }),
}

const signedAddress = Type.Object({ url: Type.String({ description: 'Relative to the server.' }) })
const expiresIn = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 604_800, default: 3600, description: 'Seconds.' }),
)
const destination = {
  bucket: Type.Optional(Type.String({ description: 'The same bucket unless given.' })),
  name: Type.Optional(Type.String({ description: 'The same name unless given.' })),
}

/** Schema of the route for all actions. Each is an operation of its own in the API document. */
export const actOnObjectSchema = {
  tags,
  security,
  summary: 'Act on an object',
  params: objectParams,
  headers,
  body: Type.Optional(
    Type.Object(
      { expiresIn: Type.Optional(Type.Integer()), ...destination },
      { additionalProperties: false },
    ),
  ),
  response: responses({
    200: Type.Union([signedAddress, Type.Object({ revoked: Type.Integer() }), object]),
    201: object,
  }),
  documentedAs: [
    {
      operationId: 'storage.sign',
      segment: 'sign',
      summary: 'Sign an address to download an object from',
      body: Type.Object({ expiresIn }),
      responses: { 200: signedAddress },
    },
    {
      operationId: 'storage.signUpload',
      segment: 'sign-upload',
      summary: 'Sign an address to upload an object to by PUT',
      body: Type.Object({ expiresIn }),
      responses: { 200: signedAddress },
    },
    {
      operationId: 'storage.revokeAddresses',
      segment: 'revoke',
      summary: 'End the addresses of an object that the caller has signed',
      responses: {
        200: Type.Object({ revoked: Type.Integer({ description: 'Addresses that were ended.' }) }),
      },
    },
    {
      operationId: 'storage.move',
      segment: 'move',
      summary: 'Move an object',
      body: Type.Object(destination),
      responses: { 200: object },
    },
    {
      operationId: 'storage.copy',
      segment: 'copy',
      summary: 'Copy an object',
      body: Type.Object(destination),
      responses: { 201: object },
    },
  ],
}

const quota = component(
  'StorageQuota',
  Type.Object({
    usage_bytes: Type.Integer(),
    quota_bytes: Type.Integer({ description: '0: no limit.' }),
    quota_mb: Type.Union([Type.Integer(), Type.Null()], { description: 'null: as configured.' }),
  }),
)
const userParams = Type.Object({ id: uuidByHandler({ description: 'Of the user.' }) })

export const getQuotaSchema = {
  tags,
  security,
  summary: 'Get what a user stores and may store',
  params: userParams,
  response: responses({ 200: quota }),
}

export const setQuotaSchema = {
  tags,
  security,
  summary: 'Set what a user may store',
  params: userParams,
  body: Type.Object({ quota_mb: Type.Union([Type.Integer(), Type.Null()]) }),
  response: responses({ 200: quota }),
}

export const applyTemplateSchema = {
  tags,
  security,
  summary: 'Create policies on objects from a template',
  params: Type.Object({
    template: Type.String({ description: 'user-own-files, public-read-auth-write or bucket-scoped' }),
  }),
  body: Type.Optional(
    Type.Object({ bucket: Type.Optional(Type.String({ description: 'All buckets unless given.' })) }),
  ),
  response: responses({
    201: Type.Object({
      template: Type.String(),
      table: Type.String(),
      bucket: Type.Optional(Type.String()),
      policies: Type.Array(Type.Object({ name: Type.String(), command: Type.String() })),
    }),
  }),
}
