import { describe, expect, test } from 'vitest'
import { readPerson } from './client.ts'

const rules = { groupsClaim: 'groups', trustedFactors: ['mfa'] }
const profile = { subject: 'ada', email: 'Ada@Example.com', isEmailVerified: true }

describe('person of an OpenID provider', () => {
  test('has the groups of a list or of one text', () => {
    const groupsOf = (groups: unknown) => readPerson({ ...profile, claims: { groups } }, rules).groups
    expect(groupsOf(['a', 'b'])).toEqual(['a', 'b'])
    expect(groupsOf('a')).toEqual(['a'])
    for (const malformed of [undefined, null, 7, { a: 1 }, [['a'], 7]]) {
      expect(groupsOf(malformed)).toEqual([])
    }
  })

  test('has a normalized address only if the provider has verified it', () => {
    expect(readPerson(profile, rules).email).toBe('ada@example.com')
    expect(readPerson({ ...profile, isEmailVerified: false }, rules).email).toBeUndefined()
    expect(readPerson({ ...profile, email: 'no address' }, rules).email).toBeUndefined()
  })

  test('has two factors only by a trusted value of amr or acr', () => {
    const isMultiFactor = (claims: object) =>
      readPerson({ ...profile, claims: { ...claims } }, rules).isMultiFactor
    expect(isMultiFactor({ amr: ['pwd', 'mfa'] })).toBe(true)
    expect(isMultiFactor({ acr: 'mfa' })).toBe(true)
    expect(isMultiFactor({ amr: ['pwd'], acr: '1' })).toBe(false)
    expect(isMultiFactor({})).toBe(false)
  })

  test('ignores a malformed auth_time', () => {
    const timeOf = (auth_time: unknown) =>
      readPerson({ ...profile, claims: { auth_time } }, rules).authenticatedAt
    expect(timeOf(1000)).toBe(1000)
    for (const malformed of ['1000', -1, 1e300, Number.NaN, null]) expect(timeOf(malformed)).toBeUndefined()
  })

  test('is rejected if the groups are distributed', () => {
    const claims = { _claim_names: { groups: 'src1' }, _claim_sources: {} }
    expect(() => readPerson({ ...profile, claims }, rules)).toThrow('too many groups')
  })
})
