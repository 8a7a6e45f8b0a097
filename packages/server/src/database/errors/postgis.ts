import type pg from 'pg'

/** PostGIS reports most of what it refuses as XX000, an internal error: only its source files tell it from one. */
export function isOfPostGis({ file = '', code = '' }: pg.DatabaseError): boolean {
  return /^(XX000|22)/.test(code) && /\b(lwgeom|gserialized|geography|geometry)_\w+\.c$/.test(file)
}
