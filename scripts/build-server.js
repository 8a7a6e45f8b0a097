// Bundles the modules of the server, which reduces its startup to three quarters of the processor time. `npm pack`
// publishes the bundle, and tests start their processes from one. Dependencies stay packages, so that an installation
// can update them. Two are of the build: packages of many megabytes, of which the server uses few.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const require = createRequire(import.meta.url)
const server = fileURLToPath(new URL('../packages/server/', import.meta.url))
const target = resolve(process.argv[2] ?? join(server, 'dist'))

const bundle = await rolldown({
  input: {
    main: join(server, 'src/main.ts'),
    // Entry points of separate processes.
    'function-process': join(server, 'src/features/functions/runtime/function-process.ts'),
    'image-process': join(server, 'src/features/files/storage/images/image-process.ts'),
    // Loaded with the first phone number.
    'phone-library': join(server, 'src/features/messaging/sms/phone-library.ts'),
  },
  platform: 'node',
  external: (id) => /^[^./]/.test(id) && !id.startsWith('libphonenumber-js/'),
  onLog(level, { message }) {
    throw new Error(`${level}: ${message}`)
  },
})
await bundle.write({ dir: target, format: 'esm', cleanDir: true, comments: false, charset: 'ascii' })
await bundle.close()

const swaggerUi = join(target, 'swagger-ui')
mkdirSync(swaggerUi)
for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css'])
  copyFileSync(require.resolve(`@fastify/swagger-ui/static/${name}`), join(swaggerUi, name))

const licenses = ['libphonenumber-js', '@fastify/swagger-ui'].map((name) => {
  const folder = dirname(require.resolve(`${name}/package.json`))
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return `## ${name} ${version}\n\n${readFileSync(join(folder, 'LICENSE'), 'utf8').trim()}\n`
})
writeFileSync(join(target, 'licenses.md'), `# Licenses of included packages\n\n${licenses.join('\n')}`)
