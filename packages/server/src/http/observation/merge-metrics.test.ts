import { expect, test } from 'vitest'
import { mergeMetrics } from './merge-metrics.ts'

test('merged metrics › have the samples of every process below one HELP and TYPE', () => {
  const one = `# HELP up Up.
# TYPE up gauge
up{worker="1"} 1

# HELP seconds Seconds # of work.
# TYPE seconds histogram
seconds_bucket{le="1",worker="1"} 2
seconds_count{worker="1"} 2
`
  const other = `# HELP up Up.
# TYPE up gauge
up{worker="2"} 1

# HELP empty Nothing yet.
# TYPE empty counter
`
  expect(mergeMetrics([one, other])).toBe(`# HELP up Up.
# TYPE up gauge
up{worker="1"} 1
up{worker="2"} 1

# HELP seconds Seconds # of work.
# TYPE seconds histogram
seconds_bucket{le="1",worker="1"} 2
seconds_count{worker="1"} 2

# HELP empty Nothing yet.
# TYPE empty counter

`)
})
