import type { BaseLocationHook, BaseSearchHook } from 'wouter'
import { useBrowserLocation, useSearch } from 'wouter/use-browser-location'

// wouter applies `decodeURI` to these values, and `URLSearchParams` or the screen decodes them once more. Without the escape,
// "%2541", which encodes the text "%41", would become "A".

const escaped = (part: string) => part.replaceAll('%', '%25')

export const useEncodedLocation: BaseLocationHook = (options) => {
  const [path, navigate] = useBrowserLocation(options)
  return [escaped(path), navigate]
}

export const useEncodedSearch: BaseSearchHook = (options) => escaped(useSearch(options))
