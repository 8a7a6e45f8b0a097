#!/usr/bin/env node
// Plain JavaScript: an older Node must be able to read this far and hand over to the Node of the dependencies.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const oldestMajor = 24

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  module.enableCompileCache?.()
  // In a checkout the sources run directly. The published package contains only their build.
  const sources = new URL('../src/main.ts', import.meta.url)
  const { main } = await import(
    existsSync(sources) ? sources.href : new URL('../dist/main.js', import.meta.url).href
  )
  await main(process)
} else {
  const newer = findNewerNode()
  if (newer === undefined) {
    process.stderr.write(
      `basalt: needs Node ${oldestMajor} or later, this is ${process.version}; only on Linux it brings its own\n`,
    )
    process.exit(1)
  }
  const child = spawn(newer, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
}

function findNewerNode() {
  const name = `node-${process.platform}-${process.arch}`
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'node')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}
