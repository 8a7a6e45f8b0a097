import { join } from 'node:path'
import { listAnchors, listLinks } from './markdown.ts'

/** Documents by their paths from the root of the repository. */
export type Documents = ReadonlyMap<string, string>

/** Finds links in Markdown without a file, or without the anchor in their file. */
export function findLinkFaults(documents: Documents, exists: (path: string) => boolean): string[] {
  const anchors = createAnchorTest(documents)
  return [...documents].flatMap(([name, markdown]) =>
    listLinks(markdown).flatMap((link) => {
      if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return []
      // Addresses of a running server, as in the generated reference.
      if (link.startsWith('/')) return []
      const [path = '', anchor] = link.split('#', 2)
      const target = path === '' ? name : join(name, '..', decodeURIComponent(path))
      if (!exists(target)) return [`${name}: no file for ${link}`]
      return anchor === undefined || anchors.has(target, anchor) ? [] : [`${name}: no anchor for ${link}`]
    }),
  )
}

/** Finds addresses of guides in a source, as in `'/docs/guides/backup#restore'`, that the site does not have. */
export function findSourceFaults(name: string, source: string, documents: Documents): string[] {
  const anchors = createAnchorTest(documents)
  const addresses = source.matchAll(/["'`}]\/docs\/guides\/([\w-]+)(?:#([\w-]+))?/g)
  return [...addresses].flatMap(([, guide = '', anchor]) => {
    const target = `docs/guides/${guide}.md`
    if (!documents.has(target)) return [`${name}: no guide for /docs/guides/${guide}`]
    return anchor === undefined || anchors.has(target, anchor)
      ? []
      : [`${name}: no anchor for /docs/guides/${guide}#${anchor}`]
  })
}

function createAnchorTest(documents: Documents) {
  const known = new Map<string, ReadonlySet<string>>()
  return {
    has(target: string, anchor: string): boolean {
      const markdown = documents.get(target)
      if (markdown === undefined) return false
      const anchors = known.get(target) ?? listAnchors(markdown)
      known.set(target, anchors)
      return anchors.has(anchor)
    },
  }
}
