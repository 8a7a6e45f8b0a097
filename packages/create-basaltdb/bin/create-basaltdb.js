#!/usr/bin/env node
// `npm create basaltdb [directory]` creates the files of `basalt init [directory]` without the server. Plain JavaScript
// for Node 20.
import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const usage = 'Usage: npm create basaltdb [directory] [-- --app-name NAME --json]\n'

/** Loads the code of `basalt init`: in a checkout its sources, in the published package their bundle. */
async function loadProjects() {
  const sources = new URL('../../server/src/project/init/init-project.ts', import.meta.url)
  return import(existsSync(sources) ? sources.href : new URL('../dist/project.js', import.meta.url).href)
}

function parseArguments() {
  try {
    const options = {
      'app-name': { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    }
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    if (positionals.length > 1) throw new Error(`expected one directory, not ${positionals.length}`)
    const appName = values['app-name']?.trim()
    if (appName === '') throw new Error('--app-name is empty')
    return { help: values.help, isJson: values.json === true, appName, directory: positionals[0] ?? '.' }
  } catch (error) {
    fail(`${error.message}\n${usage.trim()}`, 2)
  }
}

function fail(message, exitCode) {
  process.stderr.write(`create-basaltdb: ${message}\n`)
  process.exit(exitCode)
}

const { help, ...options } = parseArguments()
if (help) {
  process.stdout.write(usage)
} else {
  const { initProject } = await loadProjects()
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  try {
    process.stdout.write(await initProject(process, { ...options, version, now: new Date() }))
  } catch (error) {
    fail(error.message, error.exitCode ?? 1)
  }
}
