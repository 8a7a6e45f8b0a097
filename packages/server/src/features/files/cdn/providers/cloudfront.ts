import { AwsV4Signer } from 'aws4fetch'
import type { Clock } from '../../../../lib/clock.ts'
import type { CdnConfig } from '../config.ts'
import { addressOf, type CdnProvider, readStatus } from '../provider.ts'
import type { Purge } from '../purge.ts'

/** Error codes with which the service requests a pause, although their status is final. */
const temporary = /^(Throttl|TooManyInvalidationsInProgress|RequestLimitExceeded)/

/**
 * Creates the Amazon CloudFront provider: `CreateInvalidation` of API version 2020-05-31, with 3,000 paths per request.
 * A repeated caller reference makes no second invalidation.
 */
export function cloudfront(
  { distribution_id, access_key_id, secret_access_key, base_url }: CdnConfig['cloudfront'],
  clock: Clock,
): CdnProvider {
  const path = `/2020-05-31/distribution/${encodeURIComponent(distribution_id)}/invalidation`
  return {
    batchSize: 3000,
    async request(purge, id) {
      const signer = new AwsV4Signer({
        method: 'POST',
        url: addressOf('https://cloudfront.amazonaws.com', base_url, path),
        headers: { 'content-type': 'application/xml' },
        body: writeBatch(pathsOf(purge), id),
        accessKeyId: access_key_id,
        secretAccessKey: secret_access_key,
        // A service without regions is signed for this one (AWS General Reference, endpoints of CloudFront).
        region: 'us-east-1',
        service: 'cloudfront',
        datetime: clock
          .now()
          .toISOString()
          .replace(/[:-]|\.\d{3}/g, ''),
      })
      const { url, headers, body } = await signer.sign()
      return { url: url.href, headers: Object.fromEntries(headers), body: String(body) }
    },
    read(reply) {
      const code = /<Code>(\w{1,60})<\/Code>/.exec(reply.text)?.[1] ?? ''
      const outcome = readStatus(reply, code)
      return !outcome.isAccepted && temporary.test(code) ? { ...outcome, isFinal: false } : outcome
    },
  }
}

/** Returns the distinct paths. A distribution invalidates paths under all of its host names. */
function pathsOf(purge: Purge): readonly string[] {
  if (purge.operation === 'purge_all') return ['/*']
  return [...new Set(purge.urls.map((url) => new URL(url)).map(({ pathname, search }) => pathname + search))]
}

function writeBatch(paths: readonly string[], reference: string): string {
  const items = paths.map((path) => `<Path>${escapeXml(path)}</Path>`).join('')
  return (
    '<?xml version="1.0" encoding="UTF-8"?>' +
    '<InvalidationBatch xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/">' +
    `<Paths><Quantity>${paths.length}</Quantity><Items>${items}</Items></Paths>` +
    `<CallerReference>${reference}</CallerReference></InvalidationBatch>`
  )
}

/** Escapes a path. Its parser has already encoded all other special characters of XML. */
function escapeXml(path: string): string {
  return path.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
