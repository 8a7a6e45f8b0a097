#!/usr/bin/env node
// `npm create basaltdb [directory]` is `basalt init [directory]`, by the same code.
process.argv.splice(2, 0, 'init')
await import('basaltdb/bin/basalt.js')
