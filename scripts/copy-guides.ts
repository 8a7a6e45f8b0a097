/** Puts the guides into the build, so that the published server can show them: part of `npm run build`. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
cpSync(join(root, 'docs', 'guides'), join(root, 'packages', 'server', 'dist', 'guides'), { recursive: true })
