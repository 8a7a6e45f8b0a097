package main

import (
	"context"
	"fmt"

	"example.com/basalt/client"
)

// listUrls calls the generated client by names and types that a person would choose.
func listUrls(ctx context.Context, api *client.APIClient) ([]string, error) {
	list, _, err := api.WebhooksAPI.WebhooksList(ctx).Execute()
	if err != nil {
		return nil, err
	}
	urls := []string{}
	for _, webhook := range list.Items {
		urls = append(urls, webhook.Url)
	}
	return urls, nil
}

func create(ctx context.Context, api *client.APIClient) (*client.Webhook, error) {
	input := client.NewWebhooksCreateInput("https://example.com/hook")
	input.SetTables([]string{"track"})
	webhook, _, err := api.WebhooksAPI.WebhooksCreate(ctx).WebhooksCreateInput(*input).Execute()
	return webhook, err
}

func main() {
	api := client.NewAPIClient(client.NewConfiguration())
	fmt.Println(api.WebhooksAPI != nil)
}
