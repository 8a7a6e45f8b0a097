#!/usr/bin/env node
// Plain JavaScript: an older Node must be able to read this far and hand over to a newer one.
import { existsSync } from 'node:fs'
import module from 'node:module'

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
  const { runWithNewerNode } = await import('./newer-node.js')
  runWithNewerNode(oldestMajor)
}
