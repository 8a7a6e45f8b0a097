import { expect, test } from 'vitest'
import { startS3 } from '../../../test/s3-stand-in.ts'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestDatabase } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'

test('basalt storage check › reports an error of S3 in one line', async () => {
  await using database = await createTestDatabase()
  await using s3 = await startS3()
  const env = {
    BASALT_DATABASE_URL: database.url,
    BASALT_AUTH_JWT_SECRET: testSecret,
    BASALT_STORAGE_BACKEND: 's3',
    BASALT_STORAGE_S3_ENDPOINT: s3.bucket.endpoint,
    BASALT_STORAGE_S3_REGION: s3.bucket.region,
    BASALT_STORAGE_S3_BUCKET: s3.bucket.name,
    BASALT_STORAGE_S3_ACCESS_KEY: s3.bucket.accessKey,
    BASALT_STORAGE_S3_SECRET_KEY: 'another-secret',
  }
  const { code, stdout, stderr } = await basaltHere(['storage', 'check'], { env })
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: '',
    stderr: 'basalt: storage is unavailable: S3 answered GET with 403 SignatureDoesNotMatch\n',
  })
})
