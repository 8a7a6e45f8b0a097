import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../configuration.ts'
import { findModel } from './model.ts'

function find(file: Record<string, string>, requested?: string) {
  return findModel(loadConfig({ directory: '/', env: {}, flags: file }).config.ai, requested)
}

const openai = '{"openai": {"api_key": "sk-1", "default_model": "small"}}'

describe('findModel', () => {
  test('returns the model of the default provider', () => {
    expect(find({ 'ai.providers': openai })).toEqual({
      provider: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: 'sk-1',
      name: 'small',
      dimensions: undefined,
    })
  })

  test('prefers the more specific key', () => {
    const keys = { 'ai.providers': openai, 'ai.default_model': 'other', 'ai.embedding_model': 'large' }
    expect(find(keys)?.name).toBe('large')
    expect(find(keys, 'tiny')?.name).toBe('tiny')
    expect(find({ 'ai.providers': '{"openai": {}}', 'ai.default_model': 'other' })?.name).toBe('other')
  })

  test('accepts another provider before a colon', () => {
    const providers = '{"openai": {}, "local": {"base_url": "http://127.0.0.1:11434/v1/"}}'
    const dimensions = '{"local:nomic:v1.5": 768}'
    const keys = { 'ai.providers': providers, 'ai.embedding_dimensions': dimensions }
    expect(find(keys, 'local:nomic:v1.5')).toMatchObject({
      provider: 'local',
      baseUrl: 'http://127.0.0.1:11434/v1',
      apiKey: '',
      name: 'nomic:v1.5',
      dimensions: 768,
    })
    // The name of a model may have a colon, too.
    expect(find(keys, 'nomic:v1.5')).toMatchObject({ provider: 'openai', name: 'nomic:v1.5' })
    expect(find({ ...keys, 'ai.embedding_provider': 'local' }, 'nomic:v1.5')?.dimensions).toBe(768)
  })

  test.each([
    ['without providers', {}],
    ['with another provider than the default one', { 'ai.providers': '{"local": {"default_model": "a"}}' }],
    ['without a model', { 'ai.providers': '{"openai": {"api_key": "a"}}' }],
    [
      'with an unknown address',
      { 'ai.default_provider': 'local', 'ai.providers': '{"local": {"default_model": "a"}}' },
    ],
    ['named like a property of objects', { 'ai.default_provider': 'constructor', 'ai.default_model': 'a' }],
  ])('returns none %s', (_, keys) => {
    expect(find(keys)).toBeUndefined()
  })
})
