export type PreviewKind = 'picture' | 'page' | 'text' | 'none'

const pictures = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/svg+xml',
  'image/bmp',
])
const texts = new Set(['application/json', 'application/xml', 'application/javascript', 'application/sql'])

/** Returns the kind of preview for the type that the server detected in the content. */
export function previewKind(contentType: string): PreviewKind {
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase()
  if (pictures.has(type)) return 'picture'
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'page'
  return type.startsWith('text/') || texts.has(type) ? 'text' : 'none'
}
