import type { components, paths } from './openapi-typescript'

type Track = components['schemas']['Track']
type List = paths['/api/collections/track']['get']['responses'][200]['content']['application/json']

export const namesOf = ({ items }: List): string[] => items.map((track: Track) => track.name)

export const body: components['schemas']['TrackCreate'] = { name: 'Highway Star', unit_price: 0.99 }
