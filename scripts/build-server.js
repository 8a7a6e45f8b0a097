// Joins the modules of the server into few files, which start in two thirds of the time: `npm pack` publishes them, and tests
// start their processes from them. Dependencies stay what they are, so that an installation can renew them.
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const server = fileURLToPath(new URL('../packages/server/', import.meta.url))
const target = resolve(process.argv[2] ?? join(server, 'dist'))

const modules = await rolldown({
  input: {
    main: join(server, 'src/main.ts'),
    // A process of its own.
    'image-process': join(server, 'src/features/files/storage/images/image-process.ts'),
  },
  platform: 'node',
  external: /^[^./]/,
  onLog(level, { message }) {
    throw new Error(`${level}: ${message}`)
  },
})
await modules.write({ dir: target, format: 'esm', cleanDir: true })
