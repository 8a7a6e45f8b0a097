import type pg from 'pg'

/**
 * Returns true for errors of PostGIS. It reports most of them as XX000, an internal error, so only its source
 * files distinguish them.
 */
export function isOfPostGis({ file = '', code = '' }: pg.DatabaseError): boolean {
  return /^(XX000|22)/.test(code) && /\b(lwgeom|gserialized|geography|geometry)_\w+\.c$/.test(file)
}
