package main

import (
	"context"
	"fmt"

	"example.com/basalt/client"
)

// listNames calls the generated client by names and types that a person would choose.
func listNames(ctx context.Context, api *client.APIClient) ([]string, error) {
	page, _, err := api.TableTrackAPI.TrackList(ctx).Filter("unit_price > 1").Execute()
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, track := range page.Items {
		names = append(names, track.Name)
	}
	return names, nil
}

func create(ctx context.Context, api *client.APIClient) (int32, error) {
	input := client.NewTrackCreate("Highway Star", 0.99)
	track, _, err := api.TableTrackAPI.TrackCreate(ctx).TrackCreate(*input).Execute()
	if err != nil {
		return 0, err
	}
	return track.TrackId, nil
}

func main() {
	api := client.NewAPIClient(client.NewConfiguration())
	fmt.Println(api.TableTrackAPI != nil)
}
