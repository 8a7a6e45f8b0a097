import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Tag of HTML. Values of attributes may contain any other character. */
const tagPattern = /<(?:[^"'<>]|"[^"]*"|'[^']*')*>/g

/** Moves inline scripts of the built pages into files, because the server's policy admits no inline code. */
export function moveScripts(built: string, base: string): void {
  const written = new Set<string>()
  const move = (script: string): string => {
    const name = `_astro/${createHash('sha256').update(script).digest('hex').slice(0, 12)}.js`
    if (!written.has(name)) writeFileSync(join(built, name), script)
    written.add(name)
    return `${base}/${name}`
  }
  for (const name of readdirSync(built, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.html')) continue
    const path = join(built, name)
    writeFileSync(path, moveScriptsOf(readFileSync(path, 'utf8'), move))
  }
}

/** Replaces inline scripts of a page by those at the addresses that `move` returns. */
export function moveScriptsOf(html: string, move: (script: string) => string): string {
  const tags = new RegExp(tagPattern)
  let result = ''
  let end = 0
  for (let match = tags.exec(html); match !== null; match = tags.exec(html)) {
    const [tag] = match
    if (!/^<script[\s>]/.test(tag)) continue
    const close = html.indexOf('</script>', tags.lastIndex)
    const script = html.slice(tags.lastIndex, close).trim()
    tags.lastIndex = close
    if (script === '') continue
    if (/\stype=/.test(tag)) throw new Error(`inline script with a type: ${tag}`)
    result += `${html.slice(end, match.index)}<script src="${move(script)}">`
    end = close
  }
  return result + html.slice(end)
}
