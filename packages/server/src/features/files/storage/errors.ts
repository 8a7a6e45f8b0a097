import { defineErrors } from '../../../lib/errors.ts'

export const storageErrorTable = {
  storageNotEnabled: {
    status: 404,
    message: 'storage is not enabled',
    help: 'Set `storage.enabled` to true. With an external database all nodes have to share `storage.local_path`.',
  },
  bucketNameRequired: { status: 400, message: 'name is required', help: 'Send the `name` of the bucket.' },
  invalidBucketName: {
    status: 400,
    message: (problem: string) => `invalid bucket name: ${problem}`,
    help: 'A bucket has 1 to 63 of a-z, 0-9, `-` and `_` for its name, and neither `buckets` nor `upload`, which are paths of the API.',
  },
  invalidBucketLimit: {
    status: 400,
    message: (problem: string) => problem,
    help: '`maxFileSize` is a number of bytes, `allowedTypes` a list of media types such as `image/png` or `image/*`; null takes a limit away.',
  },
  bucketExists: {
    status: 409,
    message: 'object already exists',
    help: 'Another bucket has this name.',
  },
  bucketNotFound: {
    status: 404,
    message: 'bucket not found',
    help: 'An administrator creates buckets: `POST /api/storage/buckets`.',
  },
  bucketNotEmpty: {
    status: 409,
    message: 'bucket has objects; use force=true to delete',
    help: 'With `force=true` the objects are deleted with it.',
  },
  invalidObjectName: {
    status: 400,
    message: (problem: string) => `invalid object name: ${problem}`,
    help: 'A name has at most 1,024 bytes in segments between slashes, of which none is empty, `.` or `..`, and no control characters. `[...slug].js` is a name like any other.',
  },
  invalidUploadForm: {
    status: 400,
    message: 'invalid multipart form or file too large',
    help: 'Send `multipart/form-data` (RFC 7578) with the parts `file` and, unless its file name says it, `name`.',
  },
  uploadFileMissing: {
    status: 400,
    message: 'missing "file" field in multipart form',
    help: 'The content of the object is the part `file`, once.',
  },
  invalidDestination: {
    status: 400,
    message: (problem: string) => problem,
    help: 'Send the `name` that the object gets, and the `bucket` when it is another one.',
  },
  missingAuthToken: {
    status: 401,
    message: 'missing auth token',
    help: 'The bucket is private. Send `Authorization: Bearer <token>`, or use a signed address.',
  },
  insufficientStoragePermissions: {
    status: 403,
    message: 'insufficient storage permissions',
    help: 'No policy on `basalt.objects` permits this to the caller. `POST /api/admin/rls/templates/storage-objects/{template}` makes common ones.',
  },
  invalidSignedUrl: {
    status: 403,
    message: 'invalid or expired signed URL',
    help: 'The address was changed, has expired or was revoked, or its object was deleted. Have another one signed.',
  },
  fileNotFound: {
    status: 404,
    message: 'file not found',
    help: 'The bucket has no such object, or no policy shows it to the caller.',
  },
  objectExists: {
    status: 409,
    message: 'object already exists',
    help: 'An object of this name already exists. Delete it first, or choose another name.',
  },
  workerRefused: {
    status: 403,
    message: 'an object cannot be a service worker',
    help: 'A service worker would respond instead of this server. Serve it with the application, as a file of a site.',
  },
  fileTooLarge: {
    status: 413,
    message: (limit: number) => `file too large: at most ${limit} bytes`,
    help: 'The limit is `storage.max_file_size`, or the `maxFileSize` of the bucket if it is less.',
  },
  storageQuotaExceeded: {
    status: 413,
    message: 'storage quota exceeded',
    help: 'The files of the user, with what unfinished resumable uploads declare, would take more than `storage.default_quota_mb`, or than an administrator has set for the user.',
  },
  fileTypeNotAllowed: {
    status: 415,
    message: (type: string) => `the bucket does not take files of the type ${type}`,
    help: 'The type is that of the content, whatever the request says. `allowedTypes` of the bucket lists those it takes.',
  },
  rangeNotSatisfiable: {
    status: 416,
    message: 'range not satisfiable',
    help: 'Nothing of the object lies in the range. `Content-Range` says how long it is (RFC 9110 §14).',
  },
  invalidTransform: {
    status: 400,
    message: (problem: string) => problem,
    help: '`w` and `h` are pixels up to 4096, of which one is required; `fit` is contain, cover or fill, `crop` center or smart, `q` 1 to 100, `format` jpeg, png, webp, avif or auto.',
  },
  unsupportedImage: {
    status: 400,
    message: 'file is not a supported image format (jpeg, png, webp)',
    help: 'Other objects are served as they are, without `w` and `h`.',
  },
  imageProcessingFailed: {
    status: 422,
    message: 'image processing failed',
    help: 'The file is damaged, has more than 64 million pixels or 50 MiB, or took too long.',
  },
  imagesBusy: {
    status: 503,
    message: 'too many images are being processed',
    help: 'Try again after the seconds of `Retry-After`. An image made once is served from the cache.',
  },
  imagesUnavailable: {
    status: 503,
    message: 'image transforms are not available',
    help: 'The optional package `sharp` is not installed on the server.',
  },
  invalidExpiry: {
    status: 400,
    message: (problem: string) => problem,
    help: '`expiresIn` is a number of seconds. Default: an hour.',
  },
  invalidStorageOption: {
    status: 400,
    message: (name: string) => `${name}: unexpected value`,
    help: 'A function has called a method of `ctx.storage` with an option of another type than that of the typed client.',
  },
  templateBucketRequired: {
    status: 400,
    message: 'bucket is required',
    help: 'Send the `bucket` that the policies are for.',
  },
  storageTemplateNotFound: {
    status: 404,
    message: (name: string) => `no such template: ${name}`,
    help: 'The templates are `user-own-files`, `public-read-auth-write` and `bucket-scoped`.',
  },
  invalidStorageQuota: {
    status: 400,
    message: (bound: string) => `quota_mb must be ${bound}`,
    help: '`quota_mb` is a whole number of MiB up to 1000000000, 0 without a limit, or null for `storage.default_quota_mb`.',
  },
  storageUserNotFound: { status: 404, message: 'user not found', help: 'No user has this id.' },
  storageUnavailable: {
    status: 503,
    message: 'storage is unavailable',
    help: 'The byte store (disk or S3 bucket) did not respond. Try again after the seconds of `Retry-After`.',
  },
  uploadTimedOut: {
    status: 504,
    message: 'upload timed out',
    help: 'The limit is `storage.upload_timeout`. Send smaller files, or over a faster line.',
  },
  storageFull: {
    status: 507,
    message: 'storage is full',
    help: 'The byte store (disk or S3 bucket) has no space left. Nothing was changed.',
  },
  uploadPlaceRequired: {
    status: 400,
    message: 'bucket and name query params are required',
    help: 'Say where the object shall be: `POST /api/storage/upload/resumable?bucket=photos&name=cat.png`. The name may also be `name` or `filename` of `Upload-Metadata`.',
  },
  invalidTusResumable: {
    status: 412,
    message: 'invalid Tus-Resumable header',
    help: 'Every request but OPTIONS carries `Tus-Resumable: 1.0.0`, the version of the protocol that the server speaks.',
  },
  invalidUploadHeader: {
    status: 400,
    message: (header: string, problem: string) => `invalid ${header} header: ${problem}`,
    help: 'The headers are those of the protocol tus 1.0.',
  },
  resumableUploadNotFound: {
    status: 404,
    message: 'resumable upload not found',
    help: 'There is no such upload, or no longer. Begin another one.',
  },
  resumableUploadForbidden: {
    status: 403,
    message: 'resumable upload forbidden: not the upload owner',
    help: 'An upload belongs to the user who began it, those of administrators to all administrators.',
  },
  resumableUploadOffsetMismatch: {
    status: 409,
    message: 'resumable upload offset mismatch',
    help: '`Upload-Offset` is not the number of bytes that have arrived. Request the offset with HEAD, and resume from there.',
  },
  resumableUploadExpired: {
    status: 410,
    message: 'resumable upload has expired',
    help: 'An upload ends 24 hours after the last bytes came. Begin another one.',
  },
  resumableUploadExceeded: {
    status: 413,
    message: 'resumable upload exceeds its Upload-Length',
    help: 'The request has more bytes than the upload lacks. None of them was kept.',
  },
  invalidChunkType: {
    status: 415,
    message: 'Content-Type must be application/offset+octet-stream',
    help: 'Requests of a resumable upload have this type, whatever the type of the file.',
  },
  resumableUploadLocked: {
    status: 423,
    message: 'resumable upload is locked by another request',
    help: 'Another request adds to the upload. Try again in a few seconds: when that one is cut off, its lock ends by itself.',
  },
} as const

export const storageErrors = defineErrors(storageErrorTable)
