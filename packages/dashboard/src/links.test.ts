import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as links from './links.ts'
import { parseAccessQuery } from './screens/access/access-query.ts'
import { readView } from './screens/tables/use-view.ts'
import { screenOf } from './shell/location.ts'

const searchOf = (link: string) => new URL(link, 'http://localhost').searchParams
const pathOf = (link: string) => new URL(link, 'http://localhost').pathname

/** Sources of the page, without tests. */
const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !name.includes('.test.'))
  .map((name) => ({ name, text: readFileSync(join(import.meta.dirname, name), 'utf8') }))

describe('dashboard › links', () => {
  it('round-trip the rows and the query of Access', () => {
    const filter = `title = 'a&b' and n > 1`
    expect(readView(searchOf(links.rowsLink('post', { filter, row: '1,2' })), [])).toMatchObject({
      filter,
      row: '1,2',
    })
    expect(
      parseAccessQuery(searchOf(links.accessLink({ table: 'audit.log', id: 'a b', user: 'u1' }))),
    ).toEqual({
      as: { kind: 'user', id: 'u1' },
      table: 'audit.log',
      action: 'select',
      ids: ['a b'],
      filter: '',
      values: '',
      reason: '',
    })
    expect(parseAccessQuery(searchOf(links.accessLink({ table: 'post' }))).as).toBeUndefined()
  })

  it('name tables by their collection, and by their schema in Structure', () => {
    expect(links.structureLink({ schema: 'public', name: 'a.b' })).toBe('/structure/tables/public/a.b')
    expect(links.structureLink({ schema: 'shop', name: 'odd/name' })).toBe(
      '/structure/tables/shop/odd%2Fname',
    )
    expect(links.rowsLink('odd/name')).toBe('/tables/odd%2Fname')
  })

  it('pass SQL unchanged to the editor and to a migration', () => {
    const sql = `select '100%' & "a";\n-- ü`
    expect(searchOf(links.sqlLink(sql)).get('text')).toBe(sql)
    expect(Object.fromEntries(searchOf(links.migrationLink(sql, 'Change x')))).toEqual({
      sql,
      title: 'Change x',
    })
  })

  it('use parameters that their target reads', () => {
    const reads: Record<string, RegExp> = {
      '/sql': /search\.get\('(\w+)'\)/g,
      '/structure': /search\.get\('(\w+)'\)/g,
      '/users': /textOf\('(\w+)'\)/g,
      '/logs': /'(\w+)'/g,
      '/usage': /'(\w+)'/g,
      '/advisors': /search\.get\('(\w+)'\)/g,
      '/realtime': /search\.get\('(\w+)'\)/g,
      '/jobs': /'(\w+)'/g,
      '/support': /'(\w+)'/g,
    }
    const given = [
      links.sqlLink('x'),
      links.migrationLink('x', 'y'),
      links.linkedUsersLink('x'),
      links.logsLink({ requestId: 'x' }),
      links.usageLink({ app: 'x' }),
      links.advisorsLink({ severity: 'error', query: 'x' }),
      links.previewLink({ tables: 'x', as: 'y' }),
      links.jobsLink({ type: 'x', state: 'y' }),
      links.ticketsLink({ user: 'x' }),
    ]
    const unread = given.flatMap((link) => {
      const screen = screenOf(pathOf(link))?.path ?? ''
      const text = sources.filter(({ name }) => name.startsWith(`screens${screen}/`)).map((each) => each.text)
      const names = new Set(
        Array.from(text.join('\n').matchAll(reads[screen] ?? /$^/g), ([, name]) => name ?? ''),
      )
      return [...searchOf(link).keys()].filter((name) => !names.has(name)).map((name) => [link, name])
    })
    expect(unread).toEqual([])
  })

  it('lead to a screen from every source', () => {
    const written = sources.flatMap(({ name, text }) =>
      Array.from(
        text.matchAll(/(?:href=\{?|href=\{\([^)]*\) => |navigate\()["'`](\/[\w-]+)/g),
        ([, path = '']) => ({ name, path }),
      ),
    )
    expect(written.length).toBeGreaterThan(10)
    const served = ['/api', '/docs']
    expect(written.filter(({ path }) => !served.includes(path) && screenOf(path) === undefined)).toEqual([])
  })

  it('are created in links.ts if they have an id or a parameter', () => {
    const own = sources.flatMap(({ name, text }) => {
      const [, screen] = /^screens\/([\w-]+)\//.exec(name) ?? []
      if (screen === undefined) return []
      return Array.from(
        text.matchAll(/(?:href=\{|=> |navigate\()`(\/[\w-]+)/g),
        ([, path = '']) => path,
      ).filter((path) => {
        const target = screenOf(path)
        return (
          target !== undefined && target.path !== (screen === 'sign-in' ? '/sign-in-settings' : `/${screen}`)
        )
      })
    })
    expect(own).toEqual([])
  })
})
