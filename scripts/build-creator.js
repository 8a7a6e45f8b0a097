// Bundles the code that creates projects into create-basaltdb, so that the package has no dependency. Tests pack it at the
// same time, so the file is replaced at once.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const packages = fileURLToPath(new URL('../packages/', import.meta.url))
const target = join(packages, 'create-basaltdb', 'dist')

const bundle = await rolldown({
  input: join(packages, 'server/src/project/init/init-project.ts'),
  platform: 'node',
  transform: { target: 'node20' },
  external: /^node:/,
  onLog(level, { message }) {
    throw new Error(`${level}: ${message}`)
  },
})
const { output } = await bundle.generate({ format: 'esm', comments: false, codeSplitting: false })
await bundle.close()
mkdirSync(target, { recursive: true })
const unfinished = join(target, `project.js.${process.pid}`)
writeFileSync(unfinished, output[0].code)
renameSync(unfinished, join(target, 'project.js'))
