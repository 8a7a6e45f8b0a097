import { expect, test } from 'vitest'
import { parseListBody } from './list-body.ts'

/** Returns the parameters of the body, as a client would write them in a URL. */
function read(json: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(parseListBody(json)))
}

test.each([
  ['nothing', '', {}],
  ['no parameters', ' {} ', {}],
  ['texts', '{"filter": "a = \'x&y=1\'", "search": "été +1"}', { filter: "a = 'x&y=1'", search: 'été +1' }],
  [
    'numbers as they are written',
    '{"perPage": 5, "typo_threshold": 0.30}',
    { perPage: '5', typo_threshold: '0.30' },
  ],
  ['booleans', '{"fuzzy": true, "skipTotal": false}', { fuzzy: 'true', skipTotal: 'false' }],
  ['names of any characters', '{"fields": ["a,b", "c\\"d", "e"]}', { fields: '"a,b","c""d","e"' }],
  ['no names', '{"facets": [], "fields": []}', { facets: '', fields: '' }],
  ['terms', '{"sort": ["-a", "\\"b,c\\""], "expand": ["x.y", "z"]}', { sort: '-a,"b,c"', expand: 'x.y,z' }],
  [
    'aggregates',
    '{"aggregate": ["count", "sum(a)"], "group": ["b"]}',
    { aggregate: 'count,sum(a)', group: '"b"' },
  ],
  [
    'a vector to its last digit',
    '{"nearest": [0.12345678901234567, 1e-7]}',
    {
      nearest: '[0.12345678901234567, 1e-7]',
    },
  ],
  ['a vector as a text', '{"nearest": "{1:0.5}/3"}', { nearest: '{1:0.5}/3' }],
  ['a distance', '{"near": ["place", 1.50, -2, 3e2]}', { near: '"place",1.50,-2,3e2' }],
  [
    'a geometry',
    '{"within": ["place", {"type": "Polygon", "coordinates": []}]}',
    {
      within: '"place",{"type": "Polygon", "coordinates": []}',
    },
  ],
  ['no names that begin with _', '{"_t": null, "page": 2}', { page: '2' }],
  ['parts of characters as U+FFFD', '{"search": "\\ud800"}', { search: '\ufffd' }],
])('parseListBody › accepts %s', (_, json, parameters) => {
  expect(read(json)).toEqual(parameters)
})

const scalar = 'expected a string, a number, a boolean or an array'
test.each([
  ['[]', 'expected an object with the parameters of a list'],
  ['"x"', 'expected an object with the parameters of a list'],
  ['{"filter": null}', `filter: ${scalar}`],
  ['{"nearest": {"0": 1}}', `nearest: ${scalar}`],
  ['{"filter": ["a = 1"]}', 'filter: expected a string, a number or a boolean'],
  ['{"fields": ["a", 1]}', 'fields: expected an array of strings'],
  ['{"sort": [["a"]]}', 'sort: expected an array of strings'],
  ['{"near": [1, 2, 3]}', 'near: expected a column first'],
  ['{', 'invalid JSON body'],
])('parseListBody › rejects %s', (json, message) => {
  expect(() => parseListBody(json)).toThrow(message)
})
